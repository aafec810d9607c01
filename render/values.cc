#include "render/values.h"

#include <utility>

namespace inference::render {

namespace {

/// A template that is an object; `field` is its only one besides apiVersion, kind and metadata.
template <typename... Values>
TemplateSchema object_of(std::string_view file, std::string api_version, std::string kind, std::string field) {
  TemplateSchema schema = schema_of<MetadataValues, Values...>(file);
  schema.object = {.api_version = std::move(api_version), .kind = std::move(kind), .field = std::move(field)};
  return schema;
}

}  // namespace

std::vector<TemplateSchema> template_schemas() {
  return {
      object_of<>("drain-hook.yaml", "v1", "ConfigMap", "data"),
      object_of<ClaimValues>("resourceclaimtemplate.yaml", "resource.k8s.io/v1", "ResourceClaimTemplate", "spec"),
      object_of<ComputeDomainValues>("computedomain.yaml", "resource.nvidia.com/v1beta1", "ComputeDomain", "spec"),
      object_of<PodGroupValues>("podgroup.yaml", "scheduling.k8s.io/v1beta1", "PodGroup", "spec"),
      object_of<VolcanoPodGroupValues>("volcano-podgroup.yaml", "scheduling.volcano.sh/v1beta1", "PodGroup", "spec"),
      object_of<DeploymentValues>("deployment.yaml", "apps/v1", "Deployment", "spec"),
      object_of<GroupValues>("leaderworkerset.yaml", "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "spec"),
      object_of<ServiceValues>("service.yaml", "v1", "Service", "spec"),
      object_of<BudgetValues>("poddisruptionbudget.yaml", "policy/v1", "PodDisruptionBudget", "spec"),
      schema_of<PodValues>("pod.yaml"),
      schema_of<ProbeValues>("probe.yaml"),
      schema_of<DeviceRequestValues>("device-request.yaml"),
      schema_of<RankedRequestsValues>("ranked-requests.yaml"),
      schema_of<InitContainersValues>("init-containers.yaml"),
      schema_of<WaitForLeaderValues>("wait-for-leader.yaml"),
      schema_of<TopologyValues>("topology-container.yaml"),
  };
}

}  // namespace inference::render
