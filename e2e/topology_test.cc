// NVIDIA/k8s-device-plugin#546 on the real API server: a pod is given two GPUs that are no pair. No pod runs here, so
// the test writes what a kubelet would report of the init containers; topology_script_test.cc runs their script.
#include <gtest/gtest.h>

#include "e2e/model.h"
#include "e2e/operator_suite.h"

namespace inference::e2e {
namespace {

using namespace client::resources;

constexpr const char* kPair = "tensor=2 gpus=2\n GPU0 GPU1\nGPU0 X NV12\nGPU1 NV12 X\n";
constexpr const char* kNoPair = "tensor=2 gpus=2\n GPU0 GPU1\nGPU0 X SYS\nGPU1 SYS X\n";
constexpr const char* kHostBridge = "tensor=2 gpus=2\n GPU0 GPU1\nGPU0 X PHB\nGPU1 PHB X\n";

Json ended(const std::string& container, const std::string& message) {
  return {{"name", container},
          {"image", "engine"},
          {"imageID", ""},
          {"ready", true},
          {"restartCount", 0},
          {"state", {{"terminated", {{"exitCode", 0}, {"reason", "Completed"}, {"message", message}}}}}};
}

class TopologyInThePod : public OperatorSuite {
 protected:
  TopologyInThePod() : OperatorSuite("topology") {}
  [[nodiscard]] std::string message() { return condition_message(object(), "TopologyVerified"); }
  void deploy(const char* check, std::int64_t tensor, std::int64_t nodes, std::int64_t replicas) {
    cluster_.apply(model(
        ns(), "m",
        {{"parallelism", {{"tensor", tensor}}}, {"nodes", nodes}, {"replicas", replicas}, {"topologyCheck", check}}));
    ASSERT_TRUE(becomes("Ready", "True/AllReplicasReady"));
  }
  /// By name, in their order.
  [[nodiscard]] std::vector<std::string> pods() {
    std::vector<std::string> names;
    for (const Json& pod : cluster_.list(kPod, ns())) names.push_back(pod["metadata"]["name"]);
    std::ranges::sort(names);
    return names;
  }
  void report(const std::string& pod, const Json& status) {
    cluster_.must({"patch", "pod", pod, "-n", ns(), "--subresource=status", "--type=merge", "-p",
                   Json{{"status", status}}.dump()});
  }
  void report(const std::string& pod, const char* matrix) {
    report(pod, {{"initContainerStatuses", {ended("topology-check", matrix)}}});
  }
  /// As a kubelet reports a pod whose gate holds it.
  void report_held(const std::string& pod, const char* matrix) {
    Json gate = ended("topology-gate", "");
    gate["ready"] = false;
    gate["state"] = {{"running", {{"startedAt", "2026-11-30T12:00:00Z"}}}};
    Json engine = ended("engine", "");
    engine["ready"] = false;
    engine["state"] = {{"waiting", {{"reason", "PodInitializing"}}}};
    Json conditions = cluster_.get(kPod, ns(), pod)["status"]["conditions"];
    for (Json& condition : conditions) {
      if (condition["type"] != "PodScheduled") condition["status"] = "False";
    }
    report(pod, {{"phase", "Pending"},
                 {"conditions", conditions},
                 {"initContainerStatuses", {ended("topology-check", matrix), gate}},
                 {"containerStatuses", {engine}}});
  }
  [[nodiscard]] Output cli(const std::string& pod) const {
    return run({KUBECTL_INFERENCE, "topology", pod, "-n", ns(), "--kubeconfig", cluster_.kubeconfig()});
  }
};

TEST_F(TopologyInThePod, OffLooksAtNothing) {
  deploy("Off", 2, 1, 1);
  EXPECT_EQ(condition(object(), "TopologyVerified"), "Unknown/NotChecked");
  EXPECT_FALSE(cluster_.get(kDeployment, ns(), "m")["spec"]["template"]["spec"].contains("initContainers"));
  EXPECT_NE(cli(pods().front()).text.find("has no init container topology-check"), std::string::npos);
}

TEST_F(TopologyInThePod, OneGpuIsNeverInDoubt) {
  deploy("Enforce", 1, 1, 1);
  EXPECT_EQ(condition(object(), "TopologyVerified"), "True/SingleGPU");
  EXPECT_FALSE(cluster_.get(kDeployment, ns(), "m")["spec"]["template"]["spec"].contains("initContainers"));
}

TEST_F(TopologyInThePod, WarnNamesThePodAndThePairAndTheEngineServes) {
  deploy("Warn", 2, 1, 2);
  // The fake kubelet lets every init container end without a word, as one with an unusable driver might.
  EXPECT_TRUE(becomes("TopologyVerified", "Unknown/NotReadable"));
  const std::vector<std::string> names = pods();
  ASSERT_EQ(names.size(), 2U);
  EXPECT_EQ(cluster_.get(kPod, ns(), names[0])["status"]["qosClass"], "Guaranteed");

  report(names[0], kPair);
  report(names[1], kNoPair);
  EXPECT_TRUE(becomes("TopologyVerified", "False/CrossesSYS"));
  EXPECT_EQ(message().find("pod " + names[1] + ": GPU0-GPU1 "), 0U) << message();
  EXPECT_EQ(message().find(names[0]), std::string::npos) << message();
  EXPECT_EQ(condition(object(), "Ready"), "True/AllReplicasReady");
  EXPECT_TRUE(eventually([&] {
    return std::ranges::any_of(cluster_.list(kEvent, ns()), [](const Json& event) {
      return event["reason"] == "CrossesSYS" && event["type"] == "Warning";
    });
  }));
  const Output bad = cli(names[1]);
  EXPECT_EQ(bad.exit_code, 1);
  EXPECT_EQ(bad.text.find("TopologyVerified=False/CrossesSYS: GPU0-GPU1 "), 0U) << bad.text;
  const Output good = cli(names[0]);
  EXPECT_EQ(good.exit_code, 0) << good.text;

  report(names[1], kHostBridge);
  EXPECT_TRUE(becomes("TopologyVerified", "True/SameSocket"));
  EXPECT_NE(message().find("PHB"), std::string::npos) << message();
  EXPECT_EQ(condition(object(), "Ready"), "True/AllReplicasReady");
  report(names[1], kPair);
  EXPECT_TRUE(becomes("TopologyVerified", "True/NVLink"));
}

TEST_F(TopologyInThePod, EnforceSaysInReadyWhyTheGroupIsHeldAndRestartsNothing) {
  deploy("Enforce", 2, 2, 1);
  const std::vector<std::string> names = pods();
  ASSERT_EQ(names.size(), 2U);
  const Json uid = cluster_.get(kPod, ns(), names[1])["metadata"]["uid"];
  report_held(names[0], kPair);
  report_held(names[1], kNoPair);
  EXPECT_TRUE(becomes("Ready", "False/CrossesSYS"));
  EXPECT_EQ(condition(object(), "TopologyVerified"), "False/CrossesSYS");
  EXPECT_EQ(condition(object(), "Stalled"), "True/CrossesSYS");
  EXPECT_NE(condition_message(object(), "Ready").find("pod " + names[1] + ": GPU0-GPU1 "), std::string::npos);
  EXPECT_NE(cli(names[1]).text.find("whose engine is not started"), std::string::npos);

  report_held(names[1], "tensor=2 gpus=2\nnvidia-smi did not answer within 120 s\n");
  EXPECT_TRUE(becomes("Ready", "Unknown/NotReadable"));
  EXPECT_EQ(cluster_.get(kPod, ns(), names[1])["metadata"]["uid"], uid) << "the group was restarted";
}

}  // namespace
}  // namespace inference::e2e
