// Claims on the real scheduler: it allocates devices of ResourceSlices that the test publishes for fake nodes, as a DRA
// driver would. Each test has nodes, and devices, of a product of its own.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <thread>

#include "base/source_path.h"
#include "e2e/model.h"
#include "e2e/operator_suite.h"

namespace inference::e2e {
namespace {

using namespace client::resources;

struct Device {
  std::string name;
  std::string memory = "80Gi";
  Json attributes = Json::object();
  Json taints = Json::array();
};

class Dra : public OwnNodesSuite {
 protected:
  Dra() : OwnNodesSuite("dra") {}

  static void SetUpTestSuite() {
    add_class("gpu.nvidia.com", "gpu.nvidia.com", "gpu");
    add_class("mig.nvidia.com", "gpu.nvidia.com", "mig");
    OperatorSuite::SetUpTestSuite();
  }
  void TearDown() override {
    OwnNodesSuite::TearDown();
    for (const std::string& slice : slices_) cluster_.must({"delete", "resourceslice", slice, "--wait=false"});
    if (has_domains_) cluster_.must({"delete", "-f", source_path(kComputeDomains)});
  }

  static void add_class(const std::string& name, const std::string& driver, const std::string& type) {
    const std::string expression = "device.driver == '" + driver + "' && has(device.attributes['" + driver +
                                   "'].type) && device.attributes['" + driver + "'].type == '" + type + "'";
    RealCluster::instance().must({"apply", "--server-side", "-f", "-"},
                                 Json{{"apiVersion", "resource.k8s.io/v1"},
                                      {"kind", "DeviceClass"},
                                      {"metadata", {{"name", name}}},
                                      {"spec", {{"selectors", {{{"cel", {{"expression", expression}}}}}}}}}
                                     .dump());
  }
  /// ComputeDomains are served until the test ends. Nobody acts on them.
  void serve_compute_domains() {
    has_domains_ = true;
    cluster_.must({"apply", "-f", source_path(kComputeDomains)});
    cluster_.must({"wait", "--for=condition=Established", "--timeout=60s", "-f", source_path(kComputeDomains)});
  }
  void publish(int number, const std::string& driver, const std::string& type, const Json& devices) {
    const std::string name = node(number) + "-" + type;
    cluster_.must({"apply", "--server-side", "-f", "-"},
                  Json{{"apiVersion", "resource.k8s.io/v1"},
                       {"kind", "ResourceSlice"},
                       {"metadata", {{"name", name}}},
                       {"spec",
                        {{"driver", driver},
                         {"nodeName", node(number)},
                         {"pool", {{"name", node(number)}, {"generation", 1}, {"resourceSliceCount", 1}}},
                         {"devices", devices}}}}
                      .dump());
    slices_.push_back(name);
  }

  /// A node of this test, and its devices as NVIDIA's driver describes them; `type` is gpu or mig. The product is this
  /// test's own, so that no other test's claims are given them.
  void add_node(int number, const std::vector<Device>& devices, const char* type = "gpu") {
    cluster_.add_nodes(ns(), number, 1, 0);
    Json list = Json::array();
    for (const Device& device : devices) {
      Json attributes = {{"type", {{"string", type}}}, {"productName", {{"string", ns()}}}};
      attributes.update(device.attributes);
      list.push_back({{"name", device.name},
                      {"attributes", attributes},
                      {"capacity", {{"memory", {{"value", device.memory}}}}},
                      {"taints", device.taints}});
    }
    publish(number, "gpu.nvidia.com", type, list);
  }
  [[nodiscard]] static std::vector<Device> gpus(int count) {
    std::vector<Device> devices;
    for (int i = 0; i < count; ++i) devices.push_back({.name = "gpu-" + std::to_string(i)});
    return devices;
  }
  /// A model whose GPUs are claimed; `claim` is laid over its claim.
  void deploy(std::int64_t tensor, const Json& claim = Json::object(), Json spec = Json::object()) {
    Json accelerator = {{"mode", "DRA"}, {"product", ns()}, {"claim", claim}};
    if (spec.contains("accelerator")) accelerator.update(spec["accelerator"]);
    spec["accelerator"] = accelerator;
    spec["parallelism"] = {{"tensor", tensor}};
    if (!spec.contains("resources")) spec["resources"] = {{"cpu", 1}, {"memory", "16Gi"}};
    cluster_.apply(model(ns(), "m", spec));
  }
  [[nodiscard]] bool serves() { return becomes("Ready", "True/AllReplicasReady"); }
  /// NODE/DEVICE of every claim of the namespace, by the claim's name.
  [[nodiscard]] std::map<std::string, std::set<std::string>> allocations() {
    std::map<std::string, std::set<std::string>> all;
    for (const Json& claim : cluster_.list(kResourceClaim, ns())) {
      const Json results = claim.value("/status/allocation/devices/results"_json_pointer, Json::array());
      for (const Json& result : results)
        all[claim["metadata"]["name"]].insert(result.value("pool", "") + "/" + result.value("device", ""));
    }
    return all;
  }
  [[nodiscard]] std::set<std::string> devices() {
    std::set<std::string> all;
    for (const auto& [claim, devices] : allocations()) {
      for (const std::string& device : devices) EXPECT_TRUE(all.insert(device).second) << device << " is given twice";
    }
    return all;
  }
  [[nodiscard]] std::vector<std::string> templates() {
    std::vector<std::string> names;
    for (const Json& found : cluster_.list(kResourceClaimTemplate, ns())) names.push_back(found["metadata"]["name"]);
    return names;
  }
  [[nodiscard]] std::string node(int number) const { return ns() + "-" + std::to_string(number); }

  static constexpr const char* kComputeDomains = "e2e/nvidia/computedomains.yaml";
  std::vector<std::string> slices_;
  bool has_domains_ = false;
};

TEST_F(Dra, EachPodHasDevicesOfItsOwnAndTheStatusCountsThem) {
  add_node(0, gpus(4));
  add_node(1, gpus(4));
  deploy(2, Json::object(), {{"replicas", 4}});
  ASSERT_TRUE(serves());
  const auto claims = allocations();
  EXPECT_EQ(claims.size(), 4U);
  for (const auto& [claim, devices] : claims) EXPECT_EQ(devices.size(), 2U) << claim;
  EXPECT_EQ(devices().size(), 8U);
  for (const Json& pod : cluster_.list(kPod, ns())) {
    EXPECT_FALSE(pod.value("/spec/containers/0/resources/limits"_json_pointer, Json()).contains("nvidia.com/gpu"));
    EXPECT_EQ(pod["status"]["qosClass"], "Guaranteed");
  }
  EXPECT_TRUE(eventually([&] { return object()["status"]["gpus"]["allocated"] == 8; })) << object().dump(1);
  const Json counted = object()["status"]["gpus"];
  EXPECT_EQ(counted["requested"], 8);
  EXPECT_EQ(counted["devices"].size(), 8U);
  EXPECT_EQ(counted["devices"][0], "gpu.nvidia.com/" + node(0) + "/gpu-0");
  EXPECT_EQ(counted["leaked"], 0);
}

TEST_F(Dra, DevicesAreChosenByMemoryAndOneThatLacksAnAttributeSpoilsNothing) {
  const Json fast = {{"fast", {{"bool", true}}}};
  add_node(0, {{.name = "gpu-0", .memory = "24Gi", .attributes = fast},
               {.name = "gpu-1", .memory = "40Gi"},
               {.name = "gpu-2", .memory = "40Gi", .attributes = fast},
               {.name = "gpu-3", .memory = "80Gi", .attributes = {{"fast", {{"bool", false}}}}}});
  deploy(1, {{"memory", "40Gi"}, {"selectors", {"device.attributes['gpu.nvidia.com'].fast"}}});
  ASSERT_TRUE(serves());
  EXPECT_EQ(devices(), std::set<std::string>{node(0) + "/gpu-2"});
}

TEST_F(Dra, GpusOfAPodLieInOneDomain) {
  const auto in = [](const char* domain) { return Json{{"nvlink", {{"string", domain}}}}; };
  add_node(0, {{.name = "gpu-0", .attributes = in("a")},
               {.name = "gpu-1", .attributes = in("b")},
               {.name = "gpu-2", .attributes = in("a")},
               {.name = "gpu-3", .attributes = in("b")}});
  deploy(2, {{"matchAttribute", "gpu.nvidia.com/nvlink"}}, {{"replicas", 2}});
  ASSERT_TRUE(serves());
  const std::set<std::set<std::string>> pairs{{node(0) + "/gpu-0", node(0) + "/gpu-2"},
                                              {node(0) + "/gpu-1", node(0) + "/gpu-3"}};
  for (const auto& [claim, devices] : allocations()) EXPECT_TRUE(pairs.contains(devices)) << claim;
}

TEST_F(Dra, TheNextAlternativeIsTakenWhereTheFirstCannotBeHad) {
  add_node(0, {{.name = "gpu-0", .memory = "24Gi"}});
  const Json choices = {{{"product", ns()}, {"memory", "40Gi"}}, {{"product", ns()}, {"memory", "20Gi"}}};
  deploy(1, {{"memory", "80Gi"}, {"alternatives", choices}});
  ASSERT_TRUE(serves());
  EXPECT_EQ(devices(), std::set<std::string>{node(0) + "/gpu-0"});
  const auto claims = cluster_.list(kResourceClaim, ns());
  ASSERT_EQ(claims.size(), 1U);
  EXPECT_EQ(claims[0]["status"]["allocation"]["devices"]["results"][0]["request"], "gpus/choice-3");
  EXPECT_TRUE(eventually([&] { return object()["status"]["gpus"]["allocated"] == 1; })) << object().dump(1);
}

TEST_F(Dra, SlicesAreChosenByTheirProfile) {
  const auto slice = [](const char* profile) { return Json{{"profile", {{"string", profile}}}}; };
  add_node(0, {{.name = "mig-0", .attributes = slice("3g.40gb")}, {.name = "mig-1", .attributes = slice("1g.10gb")}},
           "mig");
  deploy(1, Json::object(), {{"accelerator", {{"mig", "1g.10gb"}}}});
  ASSERT_TRUE(serves());
  EXPECT_EQ(devices(), std::set<std::string>{node(0) + "/mig-1"});
}

TEST_F(Dra, ATaintedDeviceIsTakenOnlyWhereItIsTolerated) {
  const Json taint = {{{"key", "gpu.nvidia.com/degraded"}, {"value", "true"}, {"effect", "NoSchedule"}}};
  add_node(0, {{.name = "gpu-0", .taints = taint}});
  deploy(1);
  ASSERT_TRUE(becomes("Scheduled", "False/InsufficientGPU"));
  EXPECT_TRUE(devices().empty());
  EXPECT_TRUE(condition_message(object(), "Scheduled").starts_with("1 of 1 pods have no node for 1 GPU; "));
  EXPECT_EQ(object()["status"]["gpus"]["requested"], 1);
  EXPECT_EQ(object()["status"]["gpus"]["allocated"], 0);
  deploy(1, {{"tolerations", {{{"key", "gpu.nvidia.com/degraded"}, {"operator", "Exists"}}}}});
  ASSERT_TRUE(serves());
  EXPECT_EQ(devices(), std::set<std::string>{node(0) + "/gpu-0"});
}

TEST_F(Dra, AChangedClaimRollsOutByANewNameAndTheOldTemplateGoes) {
  add_node(0, {{.name = "gpu-0", .memory = "40Gi"}, {.name = "gpu-1", .memory = "80Gi"}});
  deploy(1, {{"memory", "40Gi"}});
  ASSERT_TRUE(serves());
  const auto before = templates();
  ASSERT_EQ(before.size(), 1U);
  deploy(1, {{"memory", "80Gi"}});
  // While pods of the old revision can still be made, they need their template.
  ASSERT_TRUE(eventually([&] {
    const auto now = templates();
    return now.size() == 1 && now != before;
  })) << object().dump(1);
  ASSERT_TRUE(serves());
  EXPECT_EQ(devices(), std::set<std::string>{node(0) + "/gpu-1"});
  const auto writes = cluster_.operator_writes(ns());
  deploy(1, {{"memory", "80Gi"}}, {{"accelerator", {{"tolerations", {{{"key", "x"}, {"operator", "Exists"}}}}}}});
  ASSERT_TRUE(eventually([&] { return cluster_.operator_writes(ns()).size() > writes.size() && serves(); }));
  EXPECT_EQ(templates().size(), 1U) << "what leaves the claim as it is makes no new template";
}

TEST_F(Dra, AGroupClaimsForEachOfItsPods) {
  add_node(0, gpus(2));
  add_node(1, gpus(2));
  deploy(2, Json::object(), {{"nodes", 2}});
  ASSERT_TRUE(serves());
  EXPECT_EQ(devices().size(), 4U);
  EXPECT_TRUE(eventually([&] { return object()["status"]["gpus"]["allocated"] == 4; })) << object().dump(1);
  EXPECT_EQ(object()["status"]["gpus"]["requested"], 4);
  cluster_.remove(kInferenceDeployment, ns(), "m");
  EXPECT_TRUE(eventually([&] { return allocations().empty() && templates().empty(); }));
}

TEST_F(Dra, AGroupWithTooFewDevicesHoldsNoneAndSaysHowManyWait) {
  add_node(0, gpus(2));
  deploy(2, Json::object(), {{"nodes", 2}});
  ASSERT_TRUE(becomes("Scheduled", "False/InsufficientGPU"));
  EXPECT_TRUE(condition_message(object(), "Scheduled").starts_with("2 of 2 pods have no node for 4 GPUs; "))
      << condition_message(object(), "Scheduled");
  EXPECT_TRUE(devices().empty());
  add_node(1, gpus(2));
  ASSERT_TRUE(serves());
  EXPECT_EQ(devices().size(), 4U);
}

TEST_F(Dra, OurOwnGatesTakeNoClaims) {
  deploy(2, Json::object(), {{"nodes", 2}, {"scheduling", {{"gang", "Gates"}}}});
  EXPECT_TRUE(becomes("Resolved", "False/NotSupported"));
  EXPECT_TRUE(cluster_.list(kLeaderWorkerSet, ns()).empty());
}

TEST_F(Dra, ADomainOfMemoryBetweenNodesNeedsNvidiasDriver) {
  deploy(2, Json::object(), {{"nodes", 2}, {"accelerator", {{"computeDomain", true}}}});
  EXPECT_TRUE(becomes("Resolved", "False/ClusterLacksComputeDomain"));
  EXPECT_TRUE(cluster_.list(kLeaderWorkerSet, ns()).empty());
}

TEST_F(Dra, ADomainOfMemoryBetweenNodesIsMadeBeforeItsGroupAndGoesWithIt) {
  serve_compute_domains();
  const std::string driver = "compute-domain.nvidia.com";
  add_class("compute-domain-default-channel.nvidia.com", driver, "channel");
  for (int number = 0; number < 2; ++number) {
    add_node(number, gpus(2));
    publish(number, driver, "channel", {{{"name", "channel-0"}, {"attributes", {{"type", {{"string", "channel"}}}}}}});
  }
  const Json group = {{"nodes", 2}, {"accelerator", {{"computeDomain", true}}}};
  deploy(2, Json::object(), group);
  Json domain;
  ASSERT_TRUE(eventually([&] {
    domain = cluster_.get(kComputeDomain, ns(), "m");
    return !domain.is_null();
  })) << object().dump(1);
  const std::string channel = domain["spec"]["channel"]["resourceClaimTemplate"]["name"];
  // What the driver does.
  cluster_.apply({{"apiVersion", "resource.k8s.io/v1"},
                  {"kind", "ResourceClaimTemplate"},
                  {"metadata", {{"name", channel}, {"namespace", ns()}}},
                  {"spec",
                   {{"spec",
                     {{"devices",
                       {{"requests",
                         {{{"name", "channel"},
                           {"exactly", {{"deviceClassName", "compute-domain-default-channel.nvidia.com"}}}}}}}}}}}}});
  ASSERT_TRUE(serves());
  for (const Json& pod : cluster_.list(kPod, ns())) {
    const Json& claims = pod["spec"]["resourceClaims"];
    EXPECT_TRUE(std::ranges::any_of(claims, [&](const Json& claim) {
      return claim["resourceClaimTemplateName"] == channel;
    })) << claims;
  }
  const auto counted = [&] { return object()["status"]["gpus"]["allocated"]; };
  EXPECT_TRUE(eventually([&] { return counted() == 4; })) << "a channel is no GPU: " << counted();

  std::this_thread::sleep_for(std::chrono::seconds{3});  // for the last events
  const auto writes = cluster_.operator_writes(ns());
  const auto first_of = [&](const char* kind) {
    return std::ranges::find_if(writes, [&](const std::string& uri) { return uri.find(kind) != std::string::npos; });
  };
  EXPECT_LT(first_of("/computedomains"), first_of("/leaderworkersets"));
  EXPECT_NE(first_of("/leaderworkersets"), writes.end());
  // Looked at again, it is as it should be.
  cluster_.must({"annotate", "computedomain/m", "inferencedeployment/m", "-n", ns(), "looked=at"});
  std::this_thread::sleep_for(std::chrono::seconds{5});
  EXPECT_EQ(cluster_.operator_writes(ns()).size(), writes.size()) << cluster_.operator_writes(ns()).back();

  const auto has_domain = [&] { return !cluster_.get(kComputeDomain, ns(), "m").is_null(); };
  deploy(2, Json::object(), {{"nodes", 2}});
  EXPECT_TRUE(eventually([&] { return !has_domain(); })) << "no pod claims its channel any more";
  deploy(2, Json::object(), group);
  ASSERT_TRUE(eventually(has_domain));
  cluster_.remove(kInferenceDeployment, ns(), "m");
  EXPECT_TRUE(eventually([&] { return !has_domain(); }));
}

TEST_F(Dra, DevicesThatAreHeldWithoutServingAreToldAsLeaked) {
  add_node(0, gpus(1));
  deploy(1, Json::object(), {{"startup", {{"timeoutSeconds", 10}}}});
  ASSERT_TRUE(serves());
  const std::string pod = cluster_.list(kPod, ns()).at(0)["metadata"]["name"];
  Json conditions = cluster_.get(kPod, ns(), pod)["status"]["conditions"];
  for (Json& condition : conditions) {
    if (condition["type"] != "Ready" && condition["type"] != "ContainersReady") continue;
    condition["status"] = "False";
    condition["lastTransitionTime"] = to_rfc3339(SystemClock().wall_now());
  }
  cluster_.must({"patch", "pod", pod, "-n", ns(), "--subresource=status", "--type=merge", "-p",
                 Json{{"status", {{"conditions", conditions}}}}.dump()});
  EXPECT_TRUE(eventually([&] { return object()["status"]["gpus"]["leaked"] == 1; })) << object().dump(1);
  EXPECT_EQ(object()["status"]["gpus"]["leaking"], Json::array({pod}));
  EXPECT_TRUE(eventually([&] {
    return std::ranges::any_of(cluster_.list(kEvent, ns()), [](const Json& event) {
      return event["reason"] == "GPUsLeaked" && event["type"] == "Warning";
    });
  }));
}

}  // namespace
}  // namespace inference::e2e
