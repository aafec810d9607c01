#pragma once

#include <cstdint>
#include <string>

#include "render/decide/accelerator.h"
#include "render/decide/sizing.h"
#include "render/findings.h"
#include "render/knowledge.h"
#include "render/resolve.h"
#include "render/traced.h"

namespace inference::render {

/// What one pod's engine gets. Requests and limits are this same list: equal on integer CPUs they make the pod
/// Guaranteed.
struct PodResources {
  Traced<std::int64_t> cpu;           // whole CPUs
  Traced<std::string> memory;         // canonical quantity, /dev/shm included
  Traced<std::string> shared_memory;  // canonical quantity, less than memory
  Traced<std::int64_t> threads;       // of each library's pool
  HoleValue list;  // {cpu, memory, nvidia.com/gpu, rdma/…}: quantities as text; GPUs of a claim are not in it
};

/// Refuses a /dev/shm that leaves the engine no memory.
[[nodiscard]] PodResources decide_resources(const Settings& settings, const Sizing& sizing,
                                            const AcceleratorChoice& accelerator, const RuleConstants& rules,
                                            Findings& findings);

}  // namespace inference::render
