#include "render/values.h"

namespace inference::render {

std::vector<TemplateSchema> template_schemas() {
  return {
      schema_of<MetadataValues>("drain-hook.yaml"),
      schema_of<MetadataValues, PodGroupValues>("podgroup.yaml"),
      schema_of<MetadataValues, DeploymentValues>("deployment.yaml"),
      schema_of<MetadataValues, GroupValues>("leaderworkerset.yaml"),
      schema_of<MetadataValues, ServiceValues>("service.yaml"),
      schema_of<MetadataValues, BudgetValues>("poddisruptionbudget.yaml"),
      schema_of<PodValues>("pod.yaml"),
      schema_of<ProbeValues>("probe.yaml"),
  };
}

}  // namespace inference::render
