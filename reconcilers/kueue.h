#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "reconcilers/gather.h"
#include "render/render.h"

namespace inference::reconcilers {

/// The first field in which `live`, a Deployment or LeaderWorkerSet, can't become `desired` while Kueue holds or takes
/// its pods; nothing when it can, or when neither names a queue.
///
/// Kueue's webhooks refuse another queue, and in a LeaderWorkerSet whatever its Workloads were counted by
/// (pkg/util/pod, SpecShape). They pass another `size`, but the Workloads keep the old one, and the new pods wait for
/// ever (v0.17).
[[nodiscard]] std::optional<std::string> must_recreate(const Json& live, const Json& desired);

/// What to say when Kueue is to hold the pods and its webhook has not touched the workload that is there.
[[nodiscard]] std::optional<render::Notice> untaken_by_kueue(const render::Rendered& rendered,
                                                             const std::vector<LiveChild>& children);

}  // namespace inference::reconcilers
