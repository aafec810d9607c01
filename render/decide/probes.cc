#include "render/decide/probes.h"

#include <string>
#include <utility>

namespace inference::render {

namespace {

ProbeValues probe(const ProbeFacts& facts, const EngineFacts& engine) {
  const Reason reason{.rule = "probe", .text = facts.why, .inputs = {}, .source = facts.source};
  return {
      .path = {.value = facts.path, .reason = reason},
      .port = {.value = engine.port.value, .reason = engine.port.reason("probe")},
      .period = {.value = facts.period_seconds, .reason = reason},
      .timeout = {.value = facts.timeout_seconds, .reason = reason},
      .threshold = {.value = facts.failure_threshold, .reason = reason},
  };
}

std::int64_t startup_failures(const Settings& settings, const RuleConstants& rules) {
  const std::int64_t period = rules.startup_probe_period.value;
  return (settings.startup_timeout.value + period - 1) / period;
}

}  // namespace

std::int64_t startup_budget(const Settings& settings, const RuleConstants& rules) {
  return startup_failures(settings, rules) * rules.startup_probe_period.value;
}

Probes decide_probes(const Settings& settings, const EngineFacts& engine, const RuleConstants& rules) {
  Probes probes{.startup = probe(engine.startup, engine),
                .liveness = probe(engine.liveness, engine),
                .readiness = probe(engine.readiness, engine)};
  probes.startup.period = {.value = rules.startup_probe_period.value,
                           .reason = rules.startup_probe_period.reason("startup_budget")};
  Reason reason = settings.startup_timeout.reason("startup_budget");
  reason.text = std::to_string(startup_budget(settings, rules)) + " s to load: " + reason.text;
  probes.startup.threshold = {.value = startup_failures(settings, rules), .reason = std::move(reason)};
  return probes;
}

}  // namespace inference::render
