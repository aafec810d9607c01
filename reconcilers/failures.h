#pragma once

#include <optional>
#include <string>

#include "reconcilers/group_restarts.h"
#include "reconcilers/workload.h"

namespace inference::reconcilers {

/// Why pods don't come to serve, which waiting alone does not heal.
struct Failure {
  std::string reason;  // of a condition
  std::string message;
};

/// The first that holds of: an image that can't be pulled, a container that can't be created, a group that fails again
/// and again (GroupRestarting), an engine that ended before it ever served. What pods of an older revision suffer from
/// while a rollout takes them away is no failure of the spec that there is now. `groups` may be null.
[[nodiscard]] std::optional<Failure> first_failure(const Workload& workload, const Pods& pods,
                                                   const GroupRestarts* groups);

/// Why the first group that fails again and again is not placed at the moment; nothing when none is held back.
[[nodiscard]] std::optional<std::string> pausing_group(const Workload& workload, const GroupRestarts& groups);

}  // namespace inference::reconcilers
