#include "audit/fixtures.h"

namespace inference::audit {
namespace {

using namespace fixtures;

const std::string kResources = std::string(kEngine) + "/resources";
constexpr auto kPath = "spec.template.spec.containers[name=vllm].resources";

Json resources(Json value) {
  return with(good(), kResources, std::move(value));
}

TEST(QosGuaranteed, FindsNothingWhereRequestsEqualLimits) {
  EXPECT_EQ(places(qos_guaranteed, good()), Paths{}) << "limits alone: the API server copies them";
  EXPECT_EQ(
      places(qos_guaranteed, resources({{"limits", {{"cpu", 2}, {"memory", "1024Mi"}, {"nvidia.com/gpu", 1}}},
                                        {"requests", {{"cpu", "2000m"}, {"memory", "1Gi"}, {"nvidia.com/gpu", 1}}}})),
      Paths{});
}

TEST(QosGuaranteed, FindsEachContainerThatBreaksIt) {
  const std::vector<Json> broken = {
      {{"limits", {{"nvidia.com/gpu", 1}}}},
      {{"limits", {{"cpu", 8}, {"memory", "64Gi"}, {"nvidia.com/gpu", 1}}}, {"requests", {{"cpu", 4}}}},
      {{"limits", {{"memory", "64Gi"}, {"nvidia.com/gpu", 1}}}, {"requests", {{"cpu", 4}}}},
      {{"limits", {{"cpu", "0"}, {"memory", "64Gi"}, {"nvidia.com/gpu", 1}}}},
      {{"limits", {{"cpu", "many"}, {"memory", "64Gi"}, {"nvidia.com/gpu", 1}}}},
  };
  for (const Json& value : broken) EXPECT_EQ(places(qos_guaranteed, resources(value)), Paths{kPath}) << value;
  Json pod = with_item(good(), std::string(kPod) + "/containers", {{"name", "exporter"}});
  pod[Json::json_pointer(std::string(kPod) + "/initContainers")] = {{{"name", "wait"}},
                                                                    {{"name", "proxy"}, {"restartPolicy", "Always"}}};
  EXPECT_EQ(places(qos_guaranteed, pod), (Paths{"spec.template.spec.initContainers[name=wait].resources",
                                                "spec.template.spec.initContainers[name=proxy].resources",
                                                "spec.template.spec.containers[name=exporter].resources"}));
}

TEST(QosGuaranteed, TakesThePodsOwnResourcesForAllContainers) {
  const Json bare = resources({{"limits", {{"nvidia.com/gpu", 1}}}});
  const std::string own = std::string(kPod) + "/resources";
  EXPECT_EQ(places(qos_guaranteed, with(bare, own, {{"limits", {{"cpu", 8}, {"memory", "64Gi"}}}})), Paths{});
  EXPECT_EQ(places(qos_guaranteed,
                   with(bare, own, {{"limits", {{"cpu", 8}, {"memory", "64Gi"}}}, {"requests", {{"cpu", 4}}}})),
            Paths{"spec.template.spec.resources"});
}

TEST(QosGuaranteed, IsOnlyAskedOfPodsWithGpus) {
  EXPECT_EQ(places(qos_guaranteed, resources({{"requests", {{"cpu", 1}}}})), Paths{});
  EXPECT_EQ(places(qos_guaranteed, resources({{"limits", {{"nvidia.com/gpu", 0}}}})), Paths{});
}

TEST(QosGuaranteed, MakesRequestsAndLimitsEqualWhereOneIsKnown) {
  const Json result = fixed(qos_guaranteed, resources({{"limits", {{"memory", "64Gi"}, {"nvidia.com/gpu", 1}}},
                                                       {"requests", {{"cpu", 4}, {"memory", "32Gi"}}}}));
  const Json& now = result[Json::json_pointer(kResources)];
  EXPECT_EQ(now["limits"]["cpu"], "4");
  EXPECT_EQ(now["requests"]["memory"], "64Gi") << "the larger one of the two is the safe one";
  EXPECT_TRUE(founds(qos_guaranteed, resources({{"limits", {{"nvidia.com/gpu", 1}}}}))[0].patch.empty())
      << "nobody knows how much";
}

TEST(IntegerCpu, FindsAFractionOnTheEngineOnly) {
  const std::string cpu = kResources + "/limits/cpu";
  EXPECT_EQ(places(integer_cpu, good()), Paths{});
  EXPECT_EQ(places(integer_cpu, with(good(), cpu, "8000m")), Paths{});
  EXPECT_EQ(places(integer_cpu, with(good(), cpu, "7500m")), Paths{std::string(kPath) + ".limits.cpu"});
  EXPECT_EQ(places(integer_cpu, with(good(), cpu, 7.5)), Paths{std::string(kPath) + ".limits.cpu"});
  const Json sidecar = with_item(good(), std::string(kPod) + "/containers",
                                 {{"name", "exporter"}, {"resources", {{"limits", {{"cpu", "500m"}}}}}});
  EXPECT_EQ(places(integer_cpu, sidecar), Paths{});
  EXPECT_EQ(fixed(integer_cpu, with(good(), cpu, "7500m"))[Json::json_pointer(cpu)], "8");
}

TEST(CpuLimitWithoutStatic, IsAnInfoOnEachLimit) {
  EXPECT_EQ(places(cpu_limit_without_static, good()), Paths{std::string(kPath) + ".limits.cpu"});
  EXPECT_EQ(places(cpu_limit_without_static, without(good(), kResources + "/limits/cpu")), Paths{});
  EXPECT_EQ(find_rule("cpu-limit-without-static")->severity, Severity::kInfo);
}

TEST(GpuLimitsOnly, FindsRequestsWithoutTheSameLimit) {
  EXPECT_EQ(places(gpu_limits_only, good()), Paths{});
  EXPECT_EQ(places(gpu_limits_only, resources({{"requests", {{"nvidia.com/gpu", 1}}}})),
            (Paths{"spec.template.spec.containers[name=vllm].resources.requests['nvidia.com/gpu']"}));
  const Json differ = resources({{"limits", {{"nvidia.com/gpu", 2}}}, {"requests", {{"nvidia.com/gpu", "1"}}}});
  EXPECT_EQ(places(gpu_limits_only, differ).size(), 1U);
  EXPECT_EQ(places(gpu_limits_only,
                   resources({{"limits", {{"nvidia.com/gpu", 2}}}, {"requests", {{"nvidia.com/gpu", "2"}}}})),
            Paths{});
  static_cast<void>(fixed(gpu_limits_only, differ));
  static_cast<void>(fixed(gpu_limits_only, resources({{"requests", {{"nvidia.com/mig-1g.10gb", 1}}}})));
}

TEST(GpuLimitsOnly, FindsFractions) {
  EXPECT_EQ(places(gpu_limits_only, resources({{"limits", {{"nvidia.com/gpu", 0.5}}}})).size(), 1U);
  EXPECT_EQ(places(gpu_limits_only, resources({{"limits", {{"nvidia.com/gpu", "500m"}}}})).size(), 1U);
}

TEST(ThreadsFromQuota, FindsWhatIsNotSet) {
  EXPECT_EQ(places(threads_from_quota, good()), Paths{});
  const std::string env = std::string(kEngine) + "/env";
  const Json without_omp = without_item(good(), env, "OMP_NUM_THREADS");
  EXPECT_EQ(places(threads_from_quota, without_omp), Paths{"spec.template.spec.containers[name=vllm].env"});
  EXPECT_EQ(places(threads_from_quota, without(good(), env)).size(), 1U) << "one finding for all three";
  EXPECT_EQ(fixed(threads_from_quota, without(good(), env))[Json::json_pointer(env)][0],
            (Json{{"name", "OMP_NUM_THREADS"}, {"value", "16"}}));
}

TEST(ThreadsFromQuota, TrustsOtherSourcesOfVariables) {
  const std::string env = std::string(kEngine) + "/env";
  const Json bare = without(good(), env);
  EXPECT_EQ(
      places(threads_from_quota, with(bare, std::string(kEngine) + "/envFrom", {{{"configMapRef", {{"name", "e"}}}}})),
      Paths{});
  EXPECT_EQ(
      places(threads_from_quota, with(without_item(good(), env, "OMP_NUM_THREADS"), std::string(kEngine) + "/command",
                                      {"sh", "-c", "OMP_NUM_THREADS=8 vllm serve m"})),
      Paths{});
  EXPECT_EQ(places(threads_from_quota, with(good(), env + "/0",
                                            {{"name", "OMP_NUM_THREADS"},
                                             {"valueFrom", {{"resourceFieldRef", {{"resource", "limits.cpu"}}}}}})),
            Paths{});
}

TEST(ThreadsFromQuota, FindsMoreThreadsThanCpus) {
  const std::string value = std::string(kEngine) + "/env/0/value";
  EXPECT_EQ(places(threads_from_quota, with(good(), value, "128")),
            Paths{"spec.template.spec.containers[name=vllm].env[name=OMP_NUM_THREADS].value"});
  EXPECT_EQ(places(threads_from_quota, with(good(), value, "64")), Paths{});
  EXPECT_EQ(places(threads_from_quota, with(good(), value, "all")), Paths{});
}

}  // namespace
}  // namespace inference::audit
