#pragma once

#include <cstdint>
#include <optional>

#include "audit/subject.h"

namespace inference::audit {

/// How long a preStop hook holds the end of its container back.
struct HookTime {
  std::int64_t seconds = 0;  // at least
  bool known = false;        // false: a script or a request decides
};

/// Nothing where there is no hook that is run.
[[nodiscard]] std::optional<HookTime> hook_time(const GpuContainer& gpu);

/// Whether requests in flight end with this container: it serves, or is a worker without which its leader's fail.
[[nodiscard]] bool carries_requests(const Subject& subject, const GpuContainer& gpu);

}  // namespace inference::audit
