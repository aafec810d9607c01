#include "audit/fixtures.h"

namespace inference::audit {
namespace {

using namespace fixtures;

const std::string kSelector = std::string(kPod) + "/nodeSelector";
const std::string kTolerations = std::string(kPod) + "/tolerations";
const Paths kSelectorPath = {"spec.template.spec.nodeSelector"};
const Paths kTolerationsPath = {"spec.template.spec.tolerations"};

Json affinity(Json terms) {
  return with(
      without(good(), kSelector),
      std::string(kPod) + "/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms",
      std::move(terms));
}
Json expression(const char* key, const char* how, Json values) {
  return {{"matchExpressions", Json::array({{{"key", key}, {"operator", how}, {"values", std::move(values)}}})}};
}

TEST(GpuNodeSelection, AcceptsWhatChoosesAProduct) {
  EXPECT_EQ(places(gpu_node_selection, good()), Paths{});
  for (const Json& selector : std::vector<Json>{{{"cloud.google.com/gke-accelerator", "nvidia-h100-80gb"}},
                                                {{"node.kubernetes.io/instance-type", "p5.48xlarge"}},
                                                {{"accelerator", "nvidia-l4"}},
                                                {{"pool", "h100"}},
                                                {{"kubernetes.io/hostname", "node-1"}},
                                                {{"nvidia.com/mig-1g.10gb.product", "NVIDIA-H100-MIG-1g.10gb"}}})
    EXPECT_EQ(places(gpu_node_selection, with(good(), kSelector, selector)), Paths{}) << selector;
  EXPECT_EQ(places(gpu_node_selection, with(without(good(), kSelector), std::string(kPod) + "/nodeName", "n")),
            Paths{});
  EXPECT_EQ(places(gpu_node_selection, affinity(Json::array({expression("nvidia.com/gpu.product", "In", {"A", "B"})}))),
            Paths{});
}

TEST(GpuNodeSelection, FindsWhatAnyGpuNodeMatches) {
  EXPECT_EQ(places(gpu_node_selection, without(good(), kSelector)), kSelectorPath);
  for (const Json& selector : std::vector<Json>{{{"kubernetes.io/os", "linux"}},
                                                {{"nvidia.com/gpu.present", "true"}},
                                                {{"accelerator", "nvidia"}},
                                                {{"gpu", "true"}},
                                                {{"topology.kubernetes.io/zone", "a"}}})
    EXPECT_EQ(places(gpu_node_selection, with(good(), kSelector, selector)), kSelectorPath) << selector;
  EXPECT_EQ(places(gpu_node_selection,
                   affinity(Json::array({expression("nvidia.com/gpu.product", "Exists", Json::array())}))),
            kSelectorPath);
  EXPECT_EQ(places(gpu_node_selection, affinity({expression("nvidia.com/gpu.product", "In", {"A"}),
                                                 expression("kubernetes.io/arch", "In", {"amd64"})})),
            kSelectorPath)
      << "terms are alternatives";
}

TEST(GpuNodeSelection, LeavesItToKueuesFlavors) {
  const Json queued = with(without(good(), kSelector), "/metadata/labels", {{"kueue.x-k8s.io/queue-name", "q"}});
  EXPECT_EQ(places(gpu_node_selection, queued), Paths{});
  EXPECT_EQ(places(gpu_toleration, without(queued, kTolerations)), Paths{});
}

TEST(GpuNodeSelection, ReadsClaims) {
  Json claimed = with(without(good(), kSelector), std::string(kPod) + "/resourceClaims",
                      {{{"name", "g"}, {"resourceClaimTemplateName", "g"}}});
  claimed = with(claimed, std::string(kEngine) + "/resources",
                 {{"limits", {{"cpu", 1}, {"memory", "1Gi"}}}, {"claims", {{{"name", "g"}}}}});
  EXPECT_EQ(places(gpu_node_selection, claimed), Paths{}) << "what the template asks for is not known";
  const auto claim = [&](const std::string& exactly) {
    std::vector<Object> objects = objects_of(
        "{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: g, namespace: llm}, spec: "
        "{spec: "
        "{devices: {requests: [{name: g, exactly: " +
        exactly + "}]}}}}");
    objects.push_back(std::make_shared<const Json>(claimed));
    return founds(gpu_node_selection, objects).size();
  };
  EXPECT_EQ(claim("{deviceClassName: gpu.nvidia.com}"), 1U);
  EXPECT_EQ(claim("{deviceClassName: gpu.nvidia.com, selectors: [{cel: {expression: 'true'}}]}"), 0U);
  EXPECT_EQ(claim("{deviceClassName: h100.example.com}"), 0U);
}

TEST(GpuToleration, FindsThatItIsMissing) {
  EXPECT_EQ(places(gpu_toleration, good()), Paths{});
  const Json missing = without(good(), kTolerations);
  EXPECT_EQ(places(gpu_toleration, missing), kTolerationsPath);
  EXPECT_EQ(places(gpu_toleration, with(good(), kTolerations, {{{"operator", "Exists"}}})), Paths{});
  EXPECT_EQ(places(gpu_toleration, with(good(), kTolerations, {{{"key", "nvidia.com/gpu"}, {"value", "present"}}})),
            Paths{});
  EXPECT_EQ(places(gpu_toleration, with(good(), kTolerations, {{{"key", "nvidia.com/gpu"}, {"effect", "NoExecute"}}})),
            kTolerationsPath);
  EXPECT_EQ(places(gpu_toleration, with(good(), kTolerations, {{{"key", "dedicated"}, {"operator", "Exists"}}})),
            kTolerationsPath);
  EXPECT_EQ(fixed(gpu_toleration, missing), good());
}

TEST(GpuToleration, IsAnInfoWhereOnlyItIsMissing) {
  const Json missing = without(good(), kTolerations);
  EXPECT_EQ(founds(gpu_toleration, missing)[0].severity, Severity::kInfo) << "managed clusters add it";
  EXPECT_EQ(founds(gpu_toleration, without(missing, kSelector))[0].severity, std::nullopt);
  EXPECT_EQ(find_rule("gpu-toleration")->severity, Severity::kWarn);
}

TEST(GpuToleration, KnowsTheTaintOfOtherMakers) {
  const Json amd =
      with(good(), std::string(kEngine) + "/resources/limits", {{"cpu", 1}, {"memory", "1Gi"}, {"amd.com/gpu", 1}});
  EXPECT_EQ(places(gpu_toleration, amd), kTolerationsPath);
  EXPECT_EQ(places(gpu_toleration, with(amd, kTolerations, {{{"key", "amd.com/gpu"}, {"operator", "Exists"}}})),
            Paths{});
}

TEST(RolloutSurge, FindsRolloutsThatNeedSpareGpus) {
  const Paths place = {"spec.strategy.rollingUpdate.maxSurge"};
  EXPECT_EQ(places(rollout_surge, good()), Paths{});
  const auto strategy = [](Json value) { return with(good(), "/spec/strategy", std::move(value)); };
  EXPECT_EQ(places(rollout_surge, without(good(), "/spec/strategy")), place) << "25% by default";
  for (const Json& surging : std::vector<Json>{{{"type", "RollingUpdate"}},
                                               {{"rollingUpdate", {{"maxUnavailable", 1}}}},
                                               {{"rollingUpdate", {{"maxSurge", 1}}}},
                                               {{"rollingUpdate", {{"maxSurge", "25%"}, {"maxUnavailable", 0}}}},
                                               Json::object()}) {
    EXPECT_EQ(places(rollout_surge, strategy(surging)), place) << surging;
    const Json now = fixed(rollout_surge, strategy(surging));
    EXPECT_EQ(now["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"], 1) << "both 0 would be refused";
  }
  EXPECT_EQ(fixed(rollout_surge, without(good(), "/spec/strategy")), good());
  for (const Json& fine : std::vector<Json>{{{"type", "Recreate"}}, {{"rollingUpdate", {{"maxSurge", "0%"}}}}})
    EXPECT_EQ(places(rollout_surge, strategy(fine)), Paths{}) << fine;
}

TEST(RolloutSurge, KnowsTheOtherKinds) {
  EXPECT_EQ(places(rollout_surge, good_group()), Paths{}) << "0 by default";
  EXPECT_EQ(places(rollout_surge, with(good_group(), "/spec/rolloutStrategy/rollingUpdateConfiguration/maxSurge", 1)),
            Paths{"spec.rolloutStrategy.rollingUpdateConfiguration.maxSurge"});
  Json set = without(good(), "/spec/strategy");
  set["kind"] = "StatefulSet";
  EXPECT_EQ(places(rollout_surge, set), Paths{});
  set["kind"] = "DaemonSet";
  EXPECT_EQ(places(rollout_surge, set), Paths{});
  EXPECT_EQ(places(rollout_surge, with(set, "/spec/updateStrategy/rollingUpdate/maxSurge", 1)).size(), 1U);
}

}  // namespace
}  // namespace inference::audit
