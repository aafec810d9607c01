#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/surroundings.h"
#include "audit/workload.h"

namespace inference::audit {

/// Whether an extended resource is a GPU, a share of one or a slice of one: nvidia.com/gpu, nvidia.com/gpu.shared,
/// nvidia.com/mig-1g.10gb, amd.com/gpu.
[[nodiscard]] bool is_gpu_resource(std::string_view resource);

/// A claim of Dynamic Resource Allocation as a container uses it.
struct DeviceClaim {
  std::string name;                  // in the pod's resourceClaims
  const Json* requests = nullptr;    // of the claim or of the template; null where the input does not have it
  std::vector<std::string> classes;  // of all requests and their alternatives
  bool pins = false;                 // a selector, or a class of one product, chooses among devices
  bool shared = false;               // by time-slicing or MPS
};

/// The GPUs that a container asks for.
struct Devices {
  std::vector<std::string> resources;     // extended resources, in order
  std::vector<DeviceClaim> claims;        // those that hold GPUs, or that may
  std::vector<DeviceClaim> other_claims;  // network devices, channels between nodes
  std::optional<std::int64_t> count;      // absent where it is not known

  [[nodiscard]] bool any() const { return !resources.empty() || !claims.empty(); }
  /// Parts of GPUs by their resource's name, or by the class or configuration of a claim.
  [[nodiscard]] bool are_parts() const;
};

[[nodiscard]] Devices devices_of(const Workload& workload, const PodTemplate& pod, const Container& container,
                                 const Surroundings& around);

}  // namespace inference::audit
