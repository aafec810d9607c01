// `kubectl inference status` in the states that a model gets into on the real API server, scheduler and
// LeaderWorkerSet. Each state is checked here, and recorded as diagnose/states/NAME.json when UPDATE_STATES=1 is set:
// the unit tests tell from there what the whole answer is.
//
// No pod runs here. What a kubelet would report of one, and kwok does not, is written by the test, and said so.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <regex>

#include "cli/status_evidence.h"
#include "diagnose/diagnosis.h"
#include "e2e/model.h"
#include "e2e/operator_suite.h"
#include "e2e/recorded_state.h"

namespace inference::e2e {
namespace {

using namespace client::resources;

class StatusTest : public OwnNodesSuite {
 protected:
  StatusTest() : OwnNodesSuite("status") {}
  void nodes(int count) { cluster_.add_nodes(ns(), 0, count); }
  [[nodiscard]] std::string node(int number) const { return ns() + "-" + std::to_string(number); }
  /// A model of 8 GPUs on one node of this test's, with `spec` laid over.
  void deploy(const Json& spec = Json::object()) {
    Json full = {{"accelerator", {{"product", ns()}}}};
    full.update(spec);
    cluster_.apply(model(ns(), "m", full));
  }
  void deploy_group(const char* gang, const Json& spec = Json::object()) {
    Json full = {{"nodes", 2}, {"scheduling", {{"gang", gang}}}};
    full.update(spec);
    deploy(full);
  }
  [[nodiscard]] diagnose::Evidence evidence() {
    auto gathered = cli::gather_evidence(cluster_.api(), {ns(), "m"});
    if (!gathered) {
      ADD_FAILURE() << gathered.error();
      return {};
    }
    return scrub(*gathered);
  }
  /// The state is reached once this rule speaks; then it is what is recorded.
  void expect_state(const std::string& name, const std::string& rule) {
    diagnose::Evidence seen;
    diagnose::Diagnosis told;
    const bool reached = eventually(
        [&] {
          seen = evidence();
          told = diagnose::diagnose(seen);
          return told.rule == rule;
        },
        std::chrono::seconds{240}, std::chrono::milliseconds{500});
    ASSERT_TRUE(reached) << name << " is " << told.rule << ": " << told.finding.cause << "\n" << seen.to_json().dump(1);
    if (std::getenv("UPDATE_STATES") != nullptr) std::ofstream(state_file(name)) << seen.to_json().dump(1) << "\n";
    std::ifstream file(state_file(name));
    ASSERT_TRUE(file.good()) << "record it: UPDATE_STATES=1";
    const diagnose::Diagnosis recorded = diagnose::diagnose(diagnose::Evidence::from_json(Json::parse(file)));
    EXPECT_EQ(told.rule, recorded.rule);
    EXPECT_EQ(of_whichever_pod(told.finding.cause), of_whichever_pod(recorded.finding.cause));
    EXPECT_EQ(told.finding.next, recorded.finding.next);
  }
  /// Which pod of a group fails first is chance.
  [[nodiscard]] static std::string of_whichever_pod(const std::string& cause) {
    return std::regex_replace(cause, std::regex(R"(pod m-0-\d+:)"), "pod m-0:");
  }
  [[nodiscard]] std::string first_pod() {
    std::vector<std::string> names;
    for (const Json& pod : cluster_.list(kPod, ns())) names.push_back(pod["metadata"]["name"]);
    std::ranges::sort(names);
    return names.empty() ? "none" : names.front();
  }
  /// As a kubelet writes a pod's status.
  void report(const std::string& pod, const Json& status) {
    cluster_.must({"patch", "pod", pod, "-n", ns(), "--subresource=status", "--type=merge", "-p",
                   Json{{"status", status}}.dump()});
  }
  /// As a kubelet reports that the engine is in `state` and the pod never was ready.
  void report_engine(const std::string& pod, const Json& state, const Json& last_state = Json::object()) {
    const std::string started = cluster_.get(kPod, ns(), pod)["metadata"]["creationTimestamp"];
    Json conditions = cluster_.get(kPod, ns(), pod)["status"]["conditions"];
    for (Json& each : conditions) {
      if (each["type"] != "Ready" && each["type"] != "ContainersReady") continue;
      each["status"] = "False";
      each["lastTransitionTime"] = started;
    }
    report(pod, {{"conditions", conditions},
                 {"containerStatuses",
                  {{{"name", "engine"},
                    {"image", "engine"},
                    {"imageID", ""},
                    {"ready", false},
                    {"restartCount", last_state.empty() ? 0 : 2},
                    {"state", state},
                    {"lastState", last_state}}}}});
  }
};

TEST_F(StatusTest, NotThere) {
  expect_state("not-there", "NotThere");
}

TEST_F(StatusTest, Ready) {
  nodes(2);
  deploy_group("Native");
  ASSERT_TRUE(eventually([&] { return is_ready(); })) << object().dump(1);
  expect_state("ready", "Ready");
}

TEST_F(StatusTest, Loading) {
  nodes(1);
  deploy();
  ASSERT_TRUE(eventually([&] { return is_ready(); })) << object().dump(1);
  report_engine(first_pod(), {{"running", {{"startedAt", "2026-11-30T12:00:00Z"}}}});
  expect_state("loading", "Loading");
}

TEST_F(StatusTest, Suspended) {
  deploy({{"suspend", true}});
  expect_state("suspended", "Suspended");
}

TEST_F(StatusTest, RefusedSpec) {
  deploy({{"model", {{"uri", "hf://org/model"}}}});
  expect_state("refused-model", "Refused");
  deploy({{"profileRef", {{"name", ns() + "-absent"}}}});
  expect_state("refused-profile", "Refused");
  deploy_group("Volcano");
  expect_state("refused-gang", "Refused");
}

TEST_F(StatusTest, OneNodeShort) {
  nodes(1);
  deploy({{"replicas", 2}});
  expect_state("insufficient-gpu", "InsufficientGPU");
}

TEST_F(StatusTest, GroupOneNodeShortWithoutAGang) {
  nodes(1);
  deploy_group("None");
  expect_state("half-placed", "HalfPlaced");
}

TEST_F(StatusTest, GroupOneNodeShortBehindGates) {
  nodes(1);
  deploy_group("Gates");
  ASSERT_TRUE(eventually([&] {
    return condition_message(object(), "Scheduled").find("GPUs are missing") != std::string::npos;
  })) << object().dump(1);
  expect_state("gang-gates", "WaitingForGang");
}

TEST_F(StatusTest, GroupOneNodeShortWithNativeGang) {
  nodes(1);
  deploy_group("Native");
  ASSERT_TRUE(eventually([&] {
    const auto groups = cluster_.list(kPodGroup, ns());
    return groups.size() == 1 && groups[0].value("/status/conditions/0/status"_json_pointer, "") == "False";
  })) << object().dump(1);
  expect_state("gang-native", "InsufficientGPU");
}

TEST_F(StatusTest, MoreGpusThanAnyNodeHas) {
  nodes(2);
  deploy_group("None", {{"parallelism", {{"tensor", 16}}}});
  expect_state("tensor-over-nodes", "MoreThanAnyNodeHas");
}

TEST_F(StatusTest, TaintedNodes) {
  nodes(1);
  cluster_.must({"taint", "node", node(0), "team=research:NoSchedule"});
  deploy();
  expect_state("tainted", "Tainted");
}

TEST_F(StatusTest, NoNodeOfThatProduct) {
  nodes(1);
  deploy({{"accelerator", {{"product", ns() + "-H300"}}}});
  expect_state("no-such-product", "SelectorMatchesNothing");
}

TEST_F(StatusTest, ClaimMissing) {
  nodes(1);
  deploy({{"model", {{"uri", "pvc://weights/llama"}}}});
  expect_state("claim-missing", "VolumeMissing");
}

TEST_F(StatusTest, QuotaForPods) {
  cluster_.must({"create", "quota", "team", "-n", ns(), "--hard=pods=0"});
  nodes(1);
  deploy();
  expect_state("quota-pods", "PodsCannotBeMade");
}

TEST_F(StatusTest, QuotaForWhatTheOperatorMakes) {
  cluster_.must({"create", "quota", "team", "-n", ns(), "--hard=services=0"});
  deploy();
  expect_state("quota-services", "Forbidden");
}

TEST_F(StatusTest, ForeignObject) {
  cluster_.must({"create", "configmap", "m-drain", "-n", ns()});
  deploy();
  expect_state("conflict", "Conflict");
}

TEST_F(StatusTest, ImageThatCanNotBePulled) {
  nodes(1);
  deploy({{"engine", {{"image", "registry.invalid/missing:1"}}}});
  expect_state("image-pull", "ImagePull");
}

TEST_F(StatusTest, ContextTooLong) {
  nodes(1);
  deploy({{"engine", {{"image", "registry.invalid/small-gpu:1"}}}, {"serving", {{"maxModelLen", 1048576}}}});
  ASSERT_TRUE(becomes("Stalled", "True/ContextTooLong"));
  expect_state("context-too-long", "EngineEnded");
}

TEST_F(StatusTest, GroupThatFailsAgainAndAgain) {
  nodes(2);
  deploy_group("Gates",
               {{"engine", {{"image", "registry.invalid/small-gpu:1"}}}, {"serving", {{"maxModelLen", 1048576}}}});
  ASSERT_TRUE(eventually([&] {
    return condition_message(object(), "Stalled").find("made anew 2 times") != std::string::npos &&
           condition_message(object(), "Scheduled").find("pauses until") != std::string::npos;
  })) << object().dump(1);
  expect_state("group-restarting", "GroupRestarting");
}

TEST_F(StatusTest, EngineThatEndsForAReasonThatNobodyKnows) {
  nodes(1);
  deploy();
  ASSERT_TRUE(eventually([&] { return is_ready(); })) << object().dump(1);
  const std::string pod = first_pod();
  const std::string time = cluster_.get(kPod, ns(), pod)["metadata"]["creationTimestamp"];
  report_engine(pod, {{"waiting", {{"reason", "CrashLoopBackOff"}, {"message", "back-off 20s restarting"}}}},
                {{"terminated",
                  {{"exitCode", 1},
                   {"reason", "Error"},
                   {"startedAt", time},
                   {"finishedAt", time},
                   {"message", "Traceback (most recent call last):\nKeyError: 'rope_scaling'\n"}}}});
  expect_state("engine-unknown", "EngineEnded");
}

TEST_F(StatusTest, ContainerThatCanNotBeCreated) {
  nodes(1);
  deploy();
  ASSERT_TRUE(eventually([&] { return is_ready(); })) << object().dump(1);
  report_engine(
      first_pod(),
      {{"waiting", {{"reason", "CreateContainerConfigError"}, {"message", "secret \"hf-token\" not found"}}}});
  expect_state("container-config", "ContainerConfig");
}

TEST_F(StatusTest, GpusThatAreNoPair) {
  nodes(1);
  deploy({{"parallelism", {{"tensor", 2}}}, {"topologyCheck", "Warn"}});
  ASSERT_TRUE(eventually([&] { return is_ready(); })) << object().dump(1);
  const Json ended = {{"name", "topology-check"},
                      {"image", "engine"},
                      {"imageID", ""},
                      {"ready", true},
                      {"restartCount", 0},
                      {"state",
                       {{"terminated",
                         {{"exitCode", 0},
                          {"reason", "Completed"},
                          {"message", "tensor=2 gpus=2\n GPU0 GPU1\nGPU0 X SYS\nGPU1 SYS X\n"}}}}}};
  report(first_pod(), {{"initContainerStatuses", {ended}}});
  ASSERT_TRUE(becomes("TopologyVerified", "False/CrossesSYS"));
  expect_state("crosses-sys", "Ready");
}

TEST_F(StatusTest, PodThatTheKubeletRefused) {
  nodes(1);
  deploy();
  ASSERT_TRUE(eventually([&] { return is_ready(); })) << object().dump(1);
  cluster_.must({"cordon", node(0)});  // else the next pod is made ready at once
  report(first_pod(), {{"phase", "Failed"},
                       {"reason", "TopologyAffinityError"},
                       {"message", "Pod was rejected: Resources cannot be allocated with Topology locality"},
                       {"containerStatuses", nullptr}});
  expect_state("topology-affinity", "TopologyAffinityError");
}

TEST_F(StatusTest, NodeThatDoesNotAnswer) {
  nodes(1);
  Json silent = cluster_.get(kNode, "", node(0));
  cluster_.must({"delete", "node", node(0)});
  for (const char* member : {"uid", "resourceVersion", "annotations", "managedFields"})
    silent["metadata"].erase(member);
  cluster_.must({"create", "-f", "-"}, silent.dump());  // Ready as it was, and nobody plays its kubelet any more
  deploy();
  expect_state("node-lost", "NodeLost");
  cluster_.must({"delete", "pods", "--all", "--force", "-n", ns()});  // no kubelet ever says that they have ended
}

TEST_F(StatusTest, DeletedAndHeld) {
  nodes(1);
  deploy();
  ASSERT_TRUE(eventually([&] { return is_ready(); })) << object().dump(1);
  cluster_.must({"patch", "inferencedeployment", "m", "-n", ns(), "--type=merge", "-p",
                 R"({"metadata": {"finalizers": ["example.com/backup"]}})"});
  cluster_.remove(kInferenceDeployment, ns(), "m");
  expect_state("deleting", "Deleting");
  cluster_.must(
      {"patch", "inferencedeployment", "m", "-n", ns(), "--type=merge", "-p", R"({"metadata": {"finalizers": null}})"});
}

TEST_F(StatusTest, PausedByHand) {
  nodes(1);
  deploy();
  ASSERT_TRUE(eventually([&] { return is_ready(); })) << object().dump(1);
  cluster_.must({"rollout", "pause", "deployment", "m", "-n", ns()});
  deploy({{"serving", {{"maxModelLen", 4096}}}});
  expect_state("paused", "Paused");
}

TEST_F(StatusTest, NoOperator) {
  EXPECT_EQ(process_->stop(SIGTERM), 0);
  deploy();
  expect_state("not-looked-at", "NotLookedAt");
  process_ = std::make_unique<OperatorProcess>(cluster_);
}

TEST_F(StatusTest, ReadsWithTheRightsOfTheUserAndNamesWhatItMayNot) {
  nodes(1);
  deploy({{"replicas", 2}});
  ASSERT_TRUE(becomes("Scheduled", "False/InsufficientGPU"));
  cluster_.must({"create", "serviceaccount", "user", "-n", ns()});
  cluster_.must(
      {"create", "rolebinding", "user", "-n", ns(), "--clusterrole=view", "--serviceaccount=" + ns() + ":user"});
  const std::string config = cluster_.account_kubeconfig(ns(), "user", cluster_.server());
  const Output told = run({KUBECTL_INFERENCE, "status", "m", "-n", ns(), "--kubeconfig", config});
  EXPECT_EQ(told.exit_code, 1);
  EXPECT_NE(told.text.find("note: without nodes, which could not be read: 403"), std::string::npos) << told.text;
  EXPECT_NE(told.text.find(ns() + "/m: 1 of 2 pods has no node"), std::string::npos) << told.text;
  cluster_.must({"delete", "rolebinding", "user", "-n", ns()});
  const Output blind = run({KUBECTL_INFERENCE, "status", "m", "-n", ns(), "--kubeconfig", config});
  EXPECT_EQ(blind.exit_code, 1);
  EXPECT_NE(blind.text.find("error: InferenceDeployment " + ns() + "/m: 403"), std::string::npos) << blind.text;
  EXPECT_EQ(run({"rm", config}).exit_code, 0);
}

}  // namespace
}  // namespace inference::e2e
