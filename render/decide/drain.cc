#include "render/decide/drain.h"

#include <string>
#include <string_view>
#include <utility>

namespace inference::render {

namespace {

std::string seconds(std::int64_t count) {
  return std::to_string(count) + " s";
}

/// A reason that no data file holds.
struct Said {
  const char* text;
  std::string_view source;
  [[nodiscard]] Reason reason(std::string_view rule) const {
    return {.rule = std::string(rule), .text = text, .inputs = {}, .source = std::string(source)};
  }
};

/// Why a worker waits as long as it does.
struct LeadersGrace {
  const Reason& sum;
  [[nodiscard]] Reason reason(std::string_view) const {
    Reason reason = sum;
    reason.text = "the leader's whole grace period: " + reason.text;
    return reason;
  }
};

/// Collects what the hook is told. A reason is anything with `reason(rule)`.
class HookEnvironment {
 public:
  explicit HookEnvironment(Detail detail) : detail_(detail) { entries_.reserve(10); }
  template <typename Why>
  void add(const char* name, std::string value, const Why& why) {
    entries_.push_back(
        constant_entry(name, std::move(value), detail_ == Detail::kWithReasons ? why.reason("drain_hook") : Reason()));
  }
  void add_if_any(const char* name, const Fact<std::string>& fact) {
    if (!fact.value.empty()) add(name, fact.value, fact);
  }
  void add(const char* name, const Fact<std::string>& fact) { add(name, fact.value, fact); }
  void add(const char* name, const Fact<std::int64_t>& fact) { add(name, std::to_string(fact.value), fact); }
  [[nodiscard]] std::vector<EnvironmentEntry> take() { return std::move(entries_); }

 private:
  Detail detail_;
  std::vector<EnvironmentEntry> entries_;
};

/// The hook of a pod that serves: wait for the proxies, then for idleness.
std::vector<EnvironmentEntry> server_environment(const Settings& settings, const EngineFacts& engine,
                                                 const RuleConstants& rules, Detail detail) {
  HookEnvironment hook(detail);
  hook.add("DRAIN_MODE", engine.drain.mode);
  hook.add("DRAIN_PORT", engine.port);
  hook.add("DRAIN_HEALTH_PATH", engine.startup.path, Said{"whether the port is served at all", engine.startup.source});
  hook.add_if_any("DRAIN_LOAD_PATH", engine.drain.load_path);
  hook.add_if_any("DRAIN_METRICS_PATH", engine.drain.metrics_path);
  hook.add_if_any("DRAIN_GAUGES", engine.drain.gauges);
  hook.add_if_any("DRAIN_POST_PATH", engine.drain.post_path);
  hook.add("DRAIN_WAIT_SECONDS", rules.propagation_wait);
  hook.add("DRAIN_TIMEOUT_SECONDS", std::to_string(settings.drain_timeout.value), settings.drain_timeout);
  hook.add("DRAIN_IDLE_SECONDS", engine.drain.idle_seconds);
  return hook.take();
}

/// The hook of a worker: stay while the leader serves, and at most until the leader's own end.
std::vector<EnvironmentEntry> worker_environment(const EngineFacts& engine, const RuleConstants& rules,
                                                 const Traced<std::int64_t>& leader_grace, Detail detail) {
  HookEnvironment hook(detail);
  hook.add("DRAIN_MODE", engine.drain.workers);
  if (engine.drain.workers.value == "wait") {
    hook.add("DRAIN_PORT", engine.port);
    hook.add("DRAIN_HEALTH_PATH", engine.startup.path, Said{"whether the worker has loaded", engine.startup.source});
    hook.add("DRAIN_WAIT_SECONDS", rules.propagation_wait);
    return hook.take();
  }
  hook.add("DRAIN_PORT", engine.port);
  hook.add("DRAIN_HEALTH_PATH", engine.startup.path, Said{"whether the leader still serves", engine.startup.source});
  hook.add("DRAIN_WAIT_SECONDS", "0", Said{"a worker is behind no Service", {}});
  hook.add("DRAIN_TIMEOUT_SECONDS", std::to_string(leader_grace.value), LeadersGrace{leader_grace.reason});
  hook.add("DRAIN_IDLE_SECONDS", engine.drain.idle_seconds);
  return hook.take();
}

}  // namespace

DrainChoice decide_drain(const Settings& settings, const EngineFacts& engine, PodRole role, const RuleConstants& rules,
                         Detail detail) {
  const std::int64_t wait = rules.propagation_wait.value;
  const std::int64_t drain = settings.drain_timeout.value;
  const std::int64_t teardown = rules.teardown.value;
  Traced<std::int64_t> grace{
      .value = wait + drain + teardown,
      .reason = {.rule = "grace_period",
                 .text = seconds(wait) + " propagation wait + " + seconds(drain) + " drain + " + seconds(teardown) +
                         " teardown",
                 .inputs = {settings.drain_timeout.path},
                 .source = {}},
  };
  if (role != PodRole::kWorker)
    return {.grace_period = std::move(grace), .environment = server_environment(settings, engine, rules, detail)};
  std::vector<EnvironmentEntry> environment = worker_environment(engine, rules, grace, detail);
  if (engine.drain.workers.value == "follow") {
    grace.reason.text = "the leader's (" + grace.reason.text + ") + " + seconds(teardown) + " own teardown";
    grace.value += teardown;
  }
  return {.grace_period = std::move(grace), .environment = std::move(environment)};
}

void check_drain(const Settings& settings, const RuleConstants& rules, Findings& findings) {
  if (settings.drain_timeout.value >= rules.short_drain.value) return;
  findings.notice("ShortDrain", settings.drain_timeout.path,
                  "generations longer than " + seconds(settings.drain_timeout.value) +
                      " are cut when a pod ends: " + rules.short_drain.why);
}

}  // namespace inference::render
