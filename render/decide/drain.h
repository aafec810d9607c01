#pragma once

#include <cstdint>
#include <vector>

#include "render/decide/engine.h"
#include "render/decide/environment.h"
#include "render/findings.h"
#include "render/knowledge.h"
#include "render/resolve.h"
#include "render/traced.h"

namespace inference::render {

/// How long a pod may take to end, and what its preStop hook is told.
struct DrainChoice {
  Traced<std::int64_t>
      grace_period;  // seconds: propagation wait + drain + teardown; a worker outlasts its leader by one more teardown
  std::vector<EnvironmentEntry> environment;
};

[[nodiscard]] DrainChoice decide_drain(const Settings& settings, const EngineFacts& engine, PodRole role,
                                       const RuleConstants& rules, Detail detail = Detail::kWithReasons);

/// Says when the drain is shorter than ordinary generations.
void check_drain(const Settings& settings, const RuleConstants& rules, Findings& findings);

}  // namespace inference::render
