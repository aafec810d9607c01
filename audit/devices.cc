#include "audit/devices.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/json_members.h"
#include "crd/quantity.h"

namespace inference::audit {
namespace {

/// A class of devices that are no GPUs: network cards, and channels of memory between nodes.
bool is_other_class(const std::string& name) {
  static constexpr std::array kParts = {"rdma", "dranet", "nic", "compute-domain", "channel", "sriov", "efa"};
  return std::ranges::any_of(kParts, [&](const char* part) { return name.contains(part); });
}

/// Adds what one request, or an alternative of it, says.
void read_request(const Json& request, DeviceClaim& claim, std::optional<std::int64_t>& count) {
  const std::string device_class = text_at(request, "deviceClassName");
  claim.classes.push_back(device_class);
  const Json& selectors = member(request, "selectors");
  // Classes beside the drivers' own are a cluster's names for products.
  static constexpr std::array kGenericClasses = {"", "gpu.nvidia.com", "mig.nvidia.com", "gpu.amd.com"};
  const bool generic = std::ranges::find(kGenericClasses, device_class) != kGenericClasses.end();
  claim.pins = claim.pins || !generic || (selectors.is_array() && !selectors.empty());
  if (text_at(request, "allocationMode") == "All" || is_other_class(device_class)) {
    if (!is_other_class(device_class)) count.reset();
    return;
  }
  if (count) *count += std::clamp<std::int64_t>(integer_at(request, "count", 1), 0, 1 << 20);
}

void read_requests(DeviceClaim& claim, std::optional<std::int64_t>& count) {
  if (!claim.requests->is_array()) return;
  for (const Json& request : *claim.requests) {
    const Json& alternatives = member(request, "firstAvailable");
    if (alternatives.is_array() && !alternatives.empty()) {
      // The first one's number stands for all.
      std::optional<std::int64_t> unused = 0;
      for (std::size_t i = 0; i < alternatives.size(); ++i)
        read_request(alternatives[i], claim, i == 0 ? count : unused);
    } else {
      // Before resource.k8s.io/v1beta2 the fields stood in the request itself.
      const Json& exactly = member(request, "exactly");
      read_request(exactly.is_object() ? exactly : request, claim, count);
    }
  }
}

bool is_shared(const Json& devices) {
  const Json& configs = member(devices, "config");
  if (!configs.is_array()) return false;
  return std::ranges::any_of(configs, [](const Json& config) {
    const Json& sharing = member(member(member(config, "opaque"), "parameters"), "sharing");
    return !text_at(sharing, "strategy").empty();
  });
}

/// The entry of the pod's resourceClaims, with what it claims if the input has that.
DeviceClaim read_claim(const Workload& workload, const PodTemplate& pod, const std::string& name,
                       const Surroundings& around, std::optional<std::int64_t>& count) {
  DeviceClaim claim{.name = name, .classes = {}};
  const Json& entries = member(pod.spec(), "resourceClaims");
  const Json* devices = nullptr;
  for (const Json& entry : entries.is_array() ? entries : Json::array()) {
    if (text_at(entry, "name") != name) continue;
    if (const Json* own =
            around.find("ResourceClaimTemplate", workload.ns, text_at(entry, "resourceClaimTemplateName")))
      devices = &member(member(member(*own, "spec"), "spec"), "devices");
    if (const Json* shared = around.find("ResourceClaim", workload.ns, text_at(entry, "resourceClaimName")))
      devices = &member(member(*shared, "spec"), "devices");
    // The domain's controller makes this template; no file has it.
    const std::string made = text_at(entry, "resourceClaimTemplateName");
    if (devices == nullptr && made.contains("channel")) claim.classes.emplace_back("compute-domain channel");
  }
  if (devices == nullptr) {
    if (claim.classes.empty()) count.reset();
    return claim;
  }
  claim.requests = &member(*devices, "requests");
  claim.shared = is_shared(*devices);
  read_requests(claim, count);
  return claim;
}

bool holds_gpus(const DeviceClaim& claim) {
  return !std::ranges::all_of(claim.classes, is_other_class) || claim.classes.empty();
}

}  // namespace

bool is_gpu_resource(std::string_view resource) {
  return resource == "nvidia.com/gpu" || resource == "nvidia.com/gpu.shared" || resource == "amd.com/gpu" ||
         resource.starts_with("nvidia.com/mig-");
}

bool Devices::are_parts() const {
  const bool by_name = std::ranges::any_of(resources, [](const std::string& resource) {
    return resource.ends_with(".shared") || resource.contains("/mig-");
  });
  const bool by_claim = std::ranges::any_of(claims, [](const DeviceClaim& claim) {
    // A slice as an alternative to a whole GPU does not make all of them parts.
    const bool slices = !claim.classes.empty() && std::ranges::all_of(claim.classes, [](const std::string& name) {
      return name.contains("mig");
    });
    return slices || claim.shared;
  });
  return by_name || by_claim;
}

Devices devices_of(const Workload& workload, const PodTemplate& pod, const Container& container,
                   const Surroundings& around) {
  Devices devices;
  devices.count = 0;
  const Json& resources = member(*container.json, "resources");
  for (const char* list : {"limits", "requests"}) {
    const Json& amounts = member(resources, list);
    if (!amounts.is_object()) continue;
    for (const auto& [resource, amount] : amounts.items()) {
      const bool known = std::ranges::find(devices.resources, resource) != devices.resources.end();
      if (!is_gpu_resource(resource) || known) continue;
      const std::string limit = container.limit(resource);
      const auto parsed = crd::Quantity::parse(limit.empty() ? container.request(resource) : limit);
      if (parsed && *parsed == crd::Quantity()) continue;  // `nvidia.com/gpu: 0` asks for none
      devices.resources.push_back(resource);
      if (!parsed) {
        devices.count.reset();
      } else if (devices.count) {
        *devices.count += std::clamp<std::int64_t>(parsed->units(), 0, 1 << 20);
      }
    }
  }
  const Json& claims = member(resources, "claims");
  for (const Json& entry : claims.is_array() ? claims : Json::array()) {
    DeviceClaim claim = read_claim(workload, pod, text_at(entry, "name"), around, devices.count);
    (holds_gpus(claim) ? devices.claims : devices.other_claims).push_back(std::move(claim));
  }
  return devices;
}

}  // namespace inference::audit
