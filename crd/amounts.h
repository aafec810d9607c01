#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/json.h"
#include "crd/quantity.h"

namespace inference::crd {

/// Amounts of resources by name, as nodes have and pods request them; what is absent is none.
using Amounts = std::map<std::string, Quantity, std::less<>>;

/// Reads a list like `{"cpu": "4", "nvidia.com/gpu": 8}`; entries that are no quantity are left out.
[[nodiscard]] Amounts read_amounts(const Json& list);

/// What a pod takes of its node while it is there, `pods: 1` included. As the scheduler counts (component-helpers/
/// resource/helpers.go): containers run with the sidecars, an init container with the sidecars before it, and the
/// larger counts; a pod's own resources stand above those; the runtime's overhead comes on top.
[[nodiscard]] Amounts requests_of(const Json& pod);

/// Whether `available` has all of `needed`.
[[nodiscard]] bool covers(const Amounts& available, const Amounts& needed);

/// Takes `used` from `available`, which may become negative where nodes are overcommitted.
void subtract(Amounts& available, const Amounts& used);

/// Devices of all resources that are GPUs by their name: nvidia.com/gpu, amd.com/gpu, nvidia.com/mig-1g.10gb …
[[nodiscard]] std::int64_t gpus_in(const Amounts& amounts);

}  // namespace inference::crd
