#pragma once

#include "render/knowledge.h"
#include "render/resolve.h"
#include "render/values.h"

namespace inference::render {

/// The probes of a pod that serves HTTP.
struct Probes {
  ProbeValues startup;  // its failures × period are the startup budget, rounded up
  ProbeValues liveness;
  ProbeValues readiness;
};

[[nodiscard]] Probes decide_probes(const Settings& settings, const EngineFacts& engine, const RuleConstants& rules);

/// Seconds that the startup probe really gives: at least what was asked for.
[[nodiscard]] std::int64_t startup_budget(const Settings& settings, const RuleConstants& rules);

}  // namespace inference::render
