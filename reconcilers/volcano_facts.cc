#include "reconcilers/volcano_facts.h"

#include "render/labels.h"

namespace inference::reconcilers {
namespace {

using namespace nlohmann::literals;
using render::VolcanoGroups;

constexpr const char* kProbe = "inference-operator-probe";
constexpr const char* kProbeRevision = "probe";
constexpr const char* kGroupAnnotation = "scheduling.k8s.io/group-name";

std::string leader_name() {
  return std::string(kProbe) + "-0";
}

VolcanoGroups holder_of(const Json& pod) {
  const auto annotation = "/metadata/annotations"_json_pointer / kGroupAnnotation;
  const std::string group = pod.value(annotation, "");
  if (group == leader_name()) return VolcanoGroups::kOperator;
  return group == leader_name() + "-" + kProbeRevision ? VolcanoGroups::kLeaderWorkerSet : VolcanoGroups::kNobody;
}

}  // namespace

Json volcano_probe(const std::string& ns) {
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata",
           {{"name", leader_name()},
            {"namespace", ns},
            {"labels",
             {{render::kLwsNameLabel, kProbe},
              {render::kLwsWorkerIndexLabel, "0"},
              {render::kLwsRevisionLabel, kProbeRevision},
              {render::kGangLabel, render::kGangLabelVolcano}}},
            {"annotations", {{render::kLwsSizeAnnotation, "2"}}}}},
          {"spec",
           {{"automountServiceAccountToken", false},
            {"securityContext", {{"runAsNonRoot", true}, {"seccompProfile", {{"type", "RuntimeDefault"}}}}},
            {"containers",
             {{{"name", "probe"},
               {"image", "probe"},
               {"securityContext", {{"allowPrivilegeEscalation", false}, {"capabilities", {{"drop", {"ALL"}}}}}}}}}}}};
}

void ask_volcano(client::ApiClient& api, const std::string& ns, render::ClusterFacts& facts, std::stop_token stop) {
  const auto pod =
      api.create(client::resources::kPod, volcano_probe(ns),
                 {.dry_run = client::DryRun::kAll, .field_validation = client::FieldValidation::kIgnore}, stop);
  if (pod) {
    facts.volcano = holder_of(*pod);
    return;
  }
  // Whatever keeps it from being tried (a right, a quota, a webhook that is down) must not keep other gangs waiting.
  facts.volcano = VolcanoGroups::kUnknown;
  facts.volcano_fault = "a pod can't be tried in namespace " + ns + ": " + pod.error().message;
}

}  // namespace inference::reconcilers
