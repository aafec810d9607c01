#pragma once

#include <cstdint>
#include <optional>

#include "base/json.h"
#include "render/decide/sizing.h"
#include "render/findings.h"
#include "render/knowledge.h"
#include "render/resolve.h"
#include "render/traced.h"

namespace inference::render {

/// How replicas are replaced, and how many of them an eviction may take.
struct RolloutChoice {
  Traced<Json> max_surge, max_unavailable;  // a number or a percentage
  std::int64_t surge_replicas = 0;          // max_surge in replicas, rounded up as controllers do
  Traced<std::int64_t> progress_deadline;   // seconds, more than a healthy replacement takes
  /// What the PodDisruptionBudget demands; neither with fewer than two replicas, where it could only block node drains
  /// for ever.
  std::optional<Traced<std::int64_t>> budget_max_unavailable;  // one pod a replica
  std::optional<Traced<std::int64_t>> budget_min_available;    // groups: pods of all of them
};

[[nodiscard]] RolloutChoice decide_rollout(const Settings& settings, const Sizing& sizing, std::int64_t grace_period,
                                           const RuleConstants& rules, Findings& findings);

}  // namespace inference::render
