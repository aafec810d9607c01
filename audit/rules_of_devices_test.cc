#include "audit/fixtures.h"

namespace inference::audit {
namespace {

using namespace fixtures;

const std::string kLimits = std::string(kEngine) + "/resources/limits";
const std::string kSelector = std::string(kPod) + "/nodeSelector";

Json on(Json selector, const std::string& resource, const std::string& count, const std::string& tensor) {
  Json object = with(good(), kSelector, std::move(selector));
  object = with(object, kLimits, {{"cpu", "8"}, {"memory", "64Gi"}, {resource, count}});
  return with_args(object, {"--model", "/models/llama", "--tensor-parallel-size", tensor});
}

TEST(WholeNodeGpus, TellsOfPartsOfANodeWithTensorParallelism) {
  const Json plain = {{"nvidia.com/gpu.product", "NVIDIA-A100-80GB-PCIe"}};
  EXPECT_EQ(places(whole_node_gpus, good()), Paths{}) << "8 of 8";
  EXPECT_EQ(places(whole_node_gpus, on(plain, "nvidia.com/gpu", "2", "2")),
            Paths{"spec.template.spec.containers[name=vllm].resources.limits"});
  EXPECT_EQ(places(whole_node_gpus, on(plain, "nvidia.com/gpu", "2", "1")), Paths{}) << "no tensor parallelism";
  EXPECT_EQ(places(whole_node_gpus, on(plain, "nvidia.com/gpu", "1", "1")), Paths{});
  EXPECT_EQ(places(whole_node_gpus, on(plain, "nvidia.com/gpu", "4", "$(TP)")), Paths{}) << "not known";
  EXPECT_EQ(places(whole_node_gpus, on({{"nvidia.com/gpu.count", "4"}}, "nvidia.com/gpu", "4", "4")), Paths{});
}

TEST(WholeNodeGpus, IsQuietWhereThePodLooksItself) {
  const Json half = on({{"x", "y"}}, "nvidia.com/gpu", "4", "4");
  EXPECT_EQ(places(whole_node_gpus, half).size(), 1U);
  EXPECT_EQ(places(whole_node_gpus, with(half, std::string(kPod) + "/initContainers",
                                         {{{"name", "check"}, {"command", {"sh", "-c", "nvidia-smi topo -m"}}}})),
            Paths{});
}

TEST(SharedGpuParallel, FindsTensorParallelismOverPartsOfGpus) {
  const Json plain = {{"nvidia.com/gpu.product", "NVIDIA-L40S"}};
  const Json shared = {{"nvidia.com/gpu.product", "NVIDIA-L40S-SHARED"}};
  EXPECT_EQ(places(shared_gpu_parallel, good()), Paths{});
  EXPECT_EQ(places(shared_gpu_parallel, on(plain, "nvidia.com/gpu.shared", "2", "2")).size(), 1U);
  EXPECT_EQ(places(shared_gpu_parallel, on({}, "nvidia.com/mig-1g.10gb", "2", "2")).size(), 1U);
  EXPECT_EQ(places(shared_gpu_parallel, on(shared, "nvidia.com/gpu", "2", "2")).size(), 1U);
  EXPECT_EQ(places(shared_gpu_parallel, on(shared, "nvidia.com/gpu", "1", "1")), Paths{});
  EXPECT_EQ(places(shared_gpu_parallel, on({}, "nvidia.com/mig-1g.10gb", "1", "1")), Paths{});
}

TEST(SharedGpuParallel, FindsAProductThatSuchNodesDoNotHave) {
  const auto selects = [](Json selector, const std::string& resource) {
    return places(shared_gpu_parallel, on(std::move(selector), resource, "1", "1"));
  };
  constexpr auto kProduct = "nvidia.com/gpu.product";
  constexpr auto kStrategy = "nvidia.com/gpu.sharing-strategy";
  const Paths product = {"spec.template.spec.nodeSelector['nvidia.com/gpu.product']"};
  EXPECT_EQ(selects({{kProduct, "NVIDIA-L40S"}, {kStrategy, "time-slicing"}}, "nvidia.com/gpu"), product);
  EXPECT_EQ(selects({{kProduct, "NVIDIA-L40S-SHARED"}, {kStrategy, "time-slicing"}}, "nvidia.com/gpu"), Paths{});
  EXPECT_EQ(selects({{kProduct, "NVIDIA-L40S"}, {kStrategy, "mps"}}, "nvidia.com/gpu.shared"), Paths{});
  EXPECT_EQ(selects({{kProduct, "NVIDIA-L40S-SHARED"}}, "nvidia.com/gpu.shared"), product);
  EXPECT_EQ(selects({{kProduct, "NVIDIA-H100"}, {"nvidia.com/mig.strategy", "single"}}, "nvidia.com/gpu"), product);
  EXPECT_EQ(selects({{kProduct, "NVIDIA-H100-MIG-1g.10gb"}}, "nvidia.com/gpu"), Paths{});
  EXPECT_EQ(selects({{kProduct, "NVIDIA-H100-MIG-1g.10gb"}}, "nvidia.com/mig-1g.10gb"), product);
  EXPECT_EQ(selects({{kProduct, "NVIDIA-H100"}}, "nvidia.com/mig-1g.10gb"), Paths{});
}

/// good() with a claim in place of the device plugin's GPUs.
Json claimed(const char* key) {
  Json object = with(good(), std::string(kPod) + "/resourceClaims", {{{"name", "gpus"}, {key, "gpus"}}});
  object = without(object, kLimits + "/nvidia.com~1gpu");
  return with(object, std::string(kEngine) + "/resources/claims", {{{"name", "gpus"}}});
}

TEST(DraClaims, TellOfOneClaimForManyPods) {
  const Json shared = claimed("resourceClaimName");
  EXPECT_EQ(places(dra_claims, shared), Paths{"spec.template.spec.resourceClaims[name=gpus].resourceClaimName"});
  EXPECT_EQ(places(dra_claims, with(shared, "/spec/replicas", 1)), Paths{});
  EXPECT_EQ(places(dra_claims, claimed("resourceClaimTemplateName")), Paths{});
}

TEST(Devices, OfAClaimAreCountedWhereTheTemplateIsKnown) {
  const auto judge = [](const std::string& request) {
    std::vector<Object> objects = objects_of(
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: gpus, namespace: llm}\n"
        "spec: {spec: {devices: {requests: [" +
        request + "]}}}");
    objects.push_back(std::make_shared<const Json>(claimed("resourceClaimTemplateName")));
    const Surroundings around(objects);
    const auto workload = read_workload(objects.back());
    const Subject subject = make_subject(*workload, around, render::Knowledge::embedded());
    return subject.containers.empty() ? Devices() : subject.containers[0].devices;
  };
  const Devices four = judge("{name: g, exactly: {deviceClassName: gpu.nvidia.com, count: 4}}");
  EXPECT_EQ(four.count, 4);
  EXPECT_FALSE(four.claims[0].pins);
  EXPECT_FALSE(four.are_parts());
  EXPECT_EQ(judge("{name: g, deviceClassName: gpu.nvidia.com}").count, 1) << "the older form";
  EXPECT_FALSE(judge("{name: g, exactly: {deviceClassName: gpu.nvidia.com, allocationMode: All}}").count);
  EXPECT_TRUE(judge("{name: g, exactly: {deviceClassName: mig.nvidia.com}}").are_parts());
  const Devices any = judge(
      "{name: g, firstAvailable: [{name: a, deviceClassName: gpu.nvidia.com, count: 2, selectors: [{}]}, {name: b, "
      "deviceClassName: mig.nvidia.com}]}");
  EXPECT_EQ(any.count, 2);
  EXPECT_FALSE(any.are_parts());
  EXPECT_TRUE(any.claims[0].pins);
  EXPECT_FALSE(judge("{name: g, exactly: {deviceClassName: dranet.example.com}}").any()) << "a network card";
}

TEST(Devices, OfAnUnknownClaimMayBeGpus) {
  const Workload workload = *read_workload(std::make_shared<const Json>(claimed("resourceClaimTemplateName")));
  const Subject subject = make_subject(workload, Surroundings(), render::Knowledge::embedded());
  ASSERT_EQ(subject.containers.size(), 1U);
  EXPECT_FALSE(subject.containers[0].devices.count);
}

}  // namespace
}  // namespace inference::audit
