#include "render/decide/drain.h"

#include <string>
#include <utility>

namespace inference::render {

namespace {

std::string seconds(std::int64_t count) {
  return std::to_string(count) + " s";
}

void add(std::vector<EnvironmentEntry>& environment, const char* name, std::string value, Reason reason) {
  environment.push_back(constant_entry(name, std::move(value), std::move(reason)));
}
void add_if_any(std::vector<EnvironmentEntry>& environment, const char* name, const Fact<std::string>& fact) {
  if (!fact.value.empty()) add(environment, name, fact.value, fact.reason("drain_hook"));
}

/// The hook of a pod that serves: wait for the proxies, then for idleness.
std::vector<EnvironmentEntry> server_environment(const Settings& settings, const EngineFacts& engine,
                                                 const RuleConstants& rules) {
  std::vector<EnvironmentEntry> environment;
  add(environment, "DRAIN_MODE", engine.drain.mode.value, engine.drain.mode.reason("drain_hook"));
  add(environment, "DRAIN_PORT", std::to_string(engine.port.value), engine.port.reason("drain_hook"));
  add(environment, "DRAIN_HEALTH_PATH", engine.startup.path,
      {.rule = "drain_hook",
       .text = "whether the port is served at all",
       .inputs = {},
       .source = engine.startup.source});
  add_if_any(environment, "DRAIN_LOAD_PATH", engine.drain.load_path);
  add_if_any(environment, "DRAIN_METRICS_PATH", engine.drain.metrics_path);
  add_if_any(environment, "DRAIN_GAUGES", engine.drain.gauges);
  add_if_any(environment, "DRAIN_POST_PATH", engine.drain.post_path);
  add(environment, "DRAIN_WAIT_SECONDS", std::to_string(rules.propagation_wait.value),
      rules.propagation_wait.reason("drain_hook"));
  add(environment, "DRAIN_TIMEOUT_SECONDS", std::to_string(settings.drain_timeout.value),
      settings.drain_timeout.reason("drain_hook"));
  add(environment, "DRAIN_IDLE_SECONDS", std::to_string(engine.drain.idle_seconds.value),
      engine.drain.idle_seconds.reason("drain_hook"));
  return environment;
}

/// The hook of a worker: stay while the leader serves, and at most until the leader's own end.
std::vector<EnvironmentEntry> worker_environment(const EngineFacts& engine, const RuleConstants& rules,
                                                 const Traced<std::int64_t>& leader_grace) {
  std::vector<EnvironmentEntry> environment;
  add(environment, "DRAIN_MODE", engine.drain.workers.value, engine.drain.workers.reason("drain_hook"));
  if (engine.drain.workers.value == "wait") {
    add(environment, "DRAIN_WAIT_SECONDS", std::to_string(rules.propagation_wait.value),
        rules.propagation_wait.reason("drain_hook"));
    return environment;
  }
  add(environment, "DRAIN_PORT", std::to_string(engine.port.value), engine.port.reason("drain_hook"));
  add(environment, "DRAIN_HEALTH_PATH", engine.startup.path,
      {.rule = "drain_hook", .text = "whether the leader still serves", .inputs = {}, .source = engine.startup.source});
  add(environment, "DRAIN_WAIT_SECONDS", "0",
      {.rule = "drain_hook", .text = "a worker is behind no Service", .inputs = {}, .source = {}});
  Reason reason = leader_grace.reason;
  reason.text = "the leader's whole grace period: " + reason.text;
  add(environment, "DRAIN_TIMEOUT_SECONDS", std::to_string(leader_grace.value), std::move(reason));
  add(environment, "DRAIN_IDLE_SECONDS", std::to_string(engine.drain.idle_seconds.value),
      engine.drain.idle_seconds.reason("drain_hook"));
  return environment;
}

}  // namespace

DrainChoice decide_drain(const Settings& settings, const EngineFacts& engine, PodRole role,
                         const RuleConstants& rules) {
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
    return {.grace_period = std::move(grace), .environment = server_environment(settings, engine, rules)};
  std::vector<EnvironmentEntry> environment = worker_environment(engine, rules, grace);
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
