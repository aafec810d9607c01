#include <algorithm>
#include <utility>

#include "audit/rules.h"
#include "base/json_members.h"

namespace inference::audit {
namespace {

constexpr std::int64_t kWholeNode = 8;  // GPUs of the largest common node
constexpr auto kProduct = "nvidia.com/gpu.product";
constexpr auto kStrategy = "nvidia.com/gpu.sharing-strategy";

const Json& node_selector(const PodTemplate& pod) {
  return member(pod.spec(), "nodeSelector");
}

/// Whether an init container looks at the links between the GPUs.
bool checks_links(const PodTemplate& pod) {
  return std::ranges::any_of(pod.containers, [](const Container& container) {
    if (container.kind != Container::Kind::kInit) return false;
    const std::string text = member(*container.json, "command").dump(-1, ' ', false, Json::error_handler_t::replace) +
                             member(*container.json, "args").dump(-1, ' ', false, Json::error_handler_t::replace);
    return container.name().find("topology") != std::string::npos || text.find("topo -m") != std::string::npos;
  });
}

/// Whether the pod chooses nodes that have just as many GPUs.
bool takes_all(const PodTemplate& pod, std::int64_t gpus) {
  const std::string count = std::to_string(gpus);
  return text_at(node_selector(pod), "nvidia.com/gpu.count") == count ||
         text_at(node_selector(pod), "cloud.google.com/gke-accelerator-count") == count;
}

/// What says that the GPUs are shares or slices; empty when nothing does.
std::string parts_of(const GpuContainer& gpu) {
  if (gpu.devices.are_parts()) return gpu.devices.resources.empty() ? "the claim" : gpu.devices.resources.front();
  const Json& selector = node_selector(*gpu.pod);
  const std::string product = text_at(selector, kProduct);
  if (product.ends_with("-SHARED") || product.find("-MIG-") != std::string::npos) return product;
  const std::string strategy = text_at(selector, kStrategy);
  return strategy == "time-slicing" || strategy == "mps" ? kStrategy + std::string(" ") + strategy : "";
}

/// Why no node has both the product and the kind of GPUs that the pod asks for; empty when one may.
std::string mismatch_of(const GpuContainer& gpu) {
  const Json& selector = node_selector(*gpu.pod);
  const std::string product = text_at(selector, kProduct);
  if (product.empty()) return {};
  const auto& resources = gpu.devices.resources;
  const bool plain = std::ranges::find(resources, "nvidia.com/gpu") != resources.end();
  const bool slices = std::ranges::any_of(
      resources, [](const std::string& resource) { return resource.starts_with("nvidia.com/mig-"); });
  const bool named_shared = product.ends_with("-SHARED");
  const bool named_slice = product.find("-MIG-") != std::string::npos;
  const std::string strategy = text_at(selector, kStrategy);
  if (plain && !named_shared && (strategy == "time-slicing" || strategy == "mps"))
    return "nodes that share nvidia.com/gpu are labelled " + product + "-SHARED";
  if (plain && !named_slice && text_at(selector, "nvidia.com/mig.strategy") == "single")
    return "nodes with MIG strategy single are labelled " + product + "-MIG- and the profile";
  if (slices && named_slice) return "nodes that offer " + resources.front() + " keep the whole GPU's name as product";
  if (!plain && named_shared && std::ranges::find(resources, "nvidia.com/gpu.shared") != resources.end())
    return "nodes that offer nvidia.com/gpu.shared keep the product's plain name";
  return {};
}

}  // namespace

Founds whole_node_gpus(const Subject& subject) {
  Founds found;
  for (const GpuContainer& gpu : subject.containers) {
    const auto& count = gpu.devices.count;
    if (!count || *count < 2 || *count >= kWholeNode || gpu.engine.tensor.value_or(1) < 2) continue;
    if (!parts_of(gpu).empty() || takes_all(*gpu.pod, *count) || checks_links(*gpu.pod)) continue;
    const std::string resource = gpu.devices.resources.empty() ? "claims" : "limits";
    found.push_back({.pointer = gpu.pointer() + "/resources/" + resource,
                     .message = std::to_string(*count) + " GPUs with tensor parallelism " +
                                std::to_string(*gpu.engine.tensor) +
                                ": on a node that has more they may lie in different NVLink domains",
                     .fix = "look at `nvidia-smi topo -m` inside the pod, or take all GPUs of a node"});
  }
  return found;
}

Founds shared_gpu_parallel(const Subject& subject) {
  Founds found;
  for (const GpuContainer& gpu : subject.containers) {
    const std::string parts = parts_of(gpu);
    if (!parts.empty() && gpu.engine.tensor.value_or(1) > 1)
      found.push_back({.pointer = gpu.pointer() + "/resources",
                       .message = "tensor parallelism over shares or slices of GPUs (" + parts +
                                  "): they have no links to each other, and NCCL fails or hangs",
                       .fix = "use whole GPUs, or one share or slice and no parallelism"});
    if (const std::string mismatch = mismatch_of(gpu); !mismatch.empty())
      found.push_back({.pointer = gpu.pod->spec_pointer() + "/nodeSelector/nvidia.com~1gpu.product",
                       .message = "no node matches: " + mismatch,
                       .fix = "select the name that such nodes have"});
  }
  return found;
}

Founds dra_claims(const Subject& subject) {
  Founds found;
  const std::int64_t pods = subject.workload->replicas > 1 ? subject.workload->replicas : subject.workload->group_size;
  if (pods < 2) return found;
  for (const PodTemplate* pod : subject.pods) {
    const Json& claims = member(pod->spec(), "resourceClaims");
    for (std::size_t i = 0; claims.is_array() && i < claims.size(); ++i) {
      const std::string name = text_at(claims[i], "resourceClaimName");
      if (name.empty()) continue;
      found.push_back({.pointer = pod->spec_pointer() + "/resourceClaims/" + std::to_string(i) + "/resourceClaimName",
                       .message = "all pods use the one ResourceClaim " + name +
                                  ": they share its devices, and run only where those are",
                       .fix =
                           "name a ResourceClaimTemplate by resourceClaimTemplateName, so that each pod gets a claim "
                           "of its own"});
    }
  }
  return found;
}

}  // namespace inference::audit
