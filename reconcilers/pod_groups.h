#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "reconcilers/gather.h"

namespace inference::reconcilers {

/// A PodGroup of scheduling.k8s.io that the scheduler does not heed: it has judged pods of it and said nothing of the
/// group.
struct UnheededGroup {
  std::string name;
  std::string since;  // RFC 3339: when the first of those pods was judged
  friend bool operator==(const UnheededGroup&, const UnheededGroup&) = default;
};

/// The one that is unheeded for longest, if any. A scheduler that knows groups tells of each in the condition
/// PodGroupInitiallyScheduled in the cycle in which it judges its pods; one without the gate GenericWorkload places pod
/// by pod, and nothing in the API but this silence shows it (kubernetes/kubernetes v1.37, pkg/features).
[[nodiscard]] std::optional<UnheededGroup> find_unheeded_group(const std::vector<LiveChild>& children,
                                                               const std::vector<Object>& pods);

/// For how long the silence may be a cache that lags.
inline constexpr std::chrono::seconds kUnheededPatience{30};

}  // namespace inference::reconcilers
