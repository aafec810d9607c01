#pragma once

#include <optional>

#include "render/decide/resources.h"
#include "render/decide/sizing.h"
#include "render/findings.h"
#include "render/resolve.h"
#include "render/values.h"

namespace inference::render {

/// The init containers that look at the links between a pod's GPUs; none where the check is off, or no two GPUs of a
/// pod share layers. Refuses the check on devices that nvidia-smi does not know.
[[nodiscard]] InitContainersValues decide_topology(const Settings& settings, const Sizing& sizing,
                                                   const AcceleratorChoice& accelerator, const PodResources& resources,
                                                   const Traced<std::string>& image, Findings& findings);

}  // namespace inference::render
