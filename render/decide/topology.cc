#include "render/decide/topology.h"

#include <string>

#include "render/decide/claims.h"
#include "topology/pod_report.h"

namespace inference::render {
namespace {

Traced<std::string> as_text(const Traced<std::int64_t>& number) {
  return {.value = std::to_string(number.value), .reason = number.reason};
}

}  // namespace

InitContainersValues decide_topology(const Settings& settings, const Sizing& sizing,
                                     const AcceleratorChoice& accelerator, const PodResources& resources,
                                     const Traced<std::string>& image, Findings& findings) {
  const auto& check = settings.topology_check;
  if (check.value == crd::TopologyCheck::kOff) return {};
  if (!accelerator.resource_name.value.starts_with("nvidia.com/")) {
    findings.refuse("NotSupported", check.path,
                    "the check asks nvidia-smi, which does not know " + accelerator.resource_name.value + "; use Off");
    return {};
  }
  if (sizing.tensor.value == 1 || sizing.gpus_per_pod.value == 1) return {};
  std::optional<HoleValue> claims;
  if (accelerator.claims())
    claims = container_claims({{kGpuClaim, {.value = "", .reason = settings.accelerator_mode.reason("claims")}}});
  const auto container = [&](const char* name, const char* mode, std::string why) {
    const Reason reason{
        .rule = "topology_check", .text = std::move(why), .inputs = {check.path}, .source = check.source};
    return SubTemplate<TopologyValues>{.file = "topology-container.yaml",
                                       .values = {.container = {.value = name, .reason = reason},
                                                  .image = image,
                                                  .mode = {.value = mode, .reason = reason},
                                                  .gpus = as_text(sizing.gpus_per_pod),
                                                  .tensor = as_text(sizing.tensor),
                                                  .resources = resources.list,
                                                  .claims = claims}};
  };
  InitContainersValues values;
  values.topology_check = container(topology::kCheckContainer, "report", "the links reach the status");
  if (check.value == crd::TopologyCheck::kEnforce)
    values.topology_gate = container(topology::kGateContainer, "hold", "the engine starts on good links only");
  return values;
}

}  // namespace inference::render
