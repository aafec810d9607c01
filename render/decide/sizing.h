#pragma once

#include <cstdint>

#include "render/findings.h"
#include "render/knowledge.h"
#include "render/resolve.h"
#include "render/traced.h"

namespace inference::render {

/// How many pods there are and how many GPUs each has.
struct Sizing {
  Traced<std::int64_t> replicas;  // 0 while suspended
  Traced<std::int64_t> nodes;     // pods of one replica
  Traced<std::int64_t> tensor;
  Traced<std::int64_t> pipeline;
  Traced<std::int64_t> gpus_per_pod;  // tensor × pipeline / nodes, at least 1
};

/// Refuses a split that does not come out even, and asks back where more GPUs a pod follow than was most likely meant.
[[nodiscard]] Sizing decide_sizing(const Settings& settings, const RuleConstants& rules, Findings& findings);

}  // namespace inference::render
