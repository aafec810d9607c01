#include "reconcilers/workload.h"

#include <gtest/gtest.h>

namespace inference::reconcilers {
namespace {

TEST(ReadWorkload, CountsOfADeploymentSpeakOfItsNewestSpecOnlyOnceThatWasSeen) {
  Json deployment =
      Json::parse(R"({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "m", "generation": 2},
    "spec": {"replicas": 3, "strategy": {"rollingUpdate": {"maxUnavailable": 1}}},
    "status": {"observedGeneration": 1, "replicas": 3, "updatedReplicas": 3, "readyReplicas": 3, "availableReplicas": 3}})");
  EXPECT_FALSE(read_workload(&deployment).settled());
  deployment["status"]["observedGeneration"] = 2;
  EXPECT_TRUE(read_workload(&deployment).settled());
  deployment["status"]["replicas"] = 4;  // one of the old revision is still there
  EXPECT_FALSE(read_workload(&deployment).settled());
}

TEST(ReadWorkload, OnItsWayOutSpeaksOfNothingThatIsWanted) {
  const Json deployment = Json::parse(
      R"({"kind": "Deployment", "metadata": {"generation": 1, "deletionTimestamp": "x"}, "spec": {"replicas": 0}, "status": {"observedGeneration": 1}})");
  EXPECT_FALSE(read_workload(&deployment).current);
}

TEST(ReadWorkload, ANewDeploymentWithoutStatusIsNotCurrent) {
  const Json deployment =
      Json::parse(R"({"kind": "Deployment", "metadata": {"generation": 1}, "spec": {"replicas": 0}})");
  EXPECT_FALSE(read_workload(&deployment).current);
}

TEST(ReadWorkload, AnOlderLeaderWorkerSetWithoutObservedGenerationIsJudgedByItsCounts) {
  Json group = Json::parse(
      R"({"kind": "LeaderWorkerSet", "metadata": {"generation": 1}, "spec": {"replicas": 2}, "status": {}})");
  EXPECT_FALSE(read_workload(&group).current);
  group["status"] = {{"replicas", 2}, {"updatedReplicas", 2}, {"readyReplicas", 2}};
  EXPECT_TRUE(read_workload(&group).settled());
}

TEST(ReadWorkload, ReadsPercentagesAsTheDeploymentControllerDoes) {
  const Json deployment = Json::parse(
      R"({"kind": "Deployment", "spec": {"replicas": 10, "strategy": {"rollingUpdate": {"maxUnavailable": "25%"}}}})");
  EXPECT_EQ(read_workload(&deployment).max_unavailable, 2);
}

TEST(ReadWorkload, NothingIsNoWorkload) {
  EXPECT_FALSE(read_workload(nullptr).exists);
}

Object pod(const char* text) {
  return std::make_shared<const Json>(Json::parse(text));
}

TEST(ReadPods, NamesWhatKeepsEachPodFromServing) {
  const Pods pods = read_pods({
      pod(R"({"metadata": {"name": "placed"}, "spec": {"nodeName": "n1"}})"),
      pod(R"({"metadata": {"name": "leaving", "deletionTimestamp": "x"}, "spec": {}})"),
      pod(R"({"metadata": {"name": "refused"}, "spec": {}, "status": {"phase": "Failed"}})"),
      pod(R"({"metadata": {"name": "no-room"}, "spec": {}, "status": {"conditions": [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."}]}})"),
      pod(R"({"metadata": {"name": "silent"}, "spec": {"schedulingGroup": {"podGroupName": "g"}}})"),
      pod(R"({"metadata": {"name": "gated"}, "spec": {"schedulingGates": [{"name": "inference-operator.dev/gang"}]}, "status": {"conditions": [
        {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": "Scheduling is blocked due to non-empty scheduling gates"}]}})"),
      pod(R"({"metadata": {"name": "no-image"}, "spec": {"nodeName": "n1"}, "status": {"containerStatuses": [
        {"name": "engine", "state": {"waiting": {"reason": "ImagePullBackOff", "message": "not found"}}}]}})"),
      pod(R"({"metadata": {"name": "crashing"}, "spec": {"nodeName": "n1"}, "status": {"containerStatuses": [
        {"name": "engine", "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": {"exitCode": 1, "message": "CUDA out of memory"}}}]}})"),
  });
  EXPECT_EQ(pods.total, 6);
  EXPECT_EQ(pods.placed, 3);
  EXPECT_EQ(pods.first(PodProblem::Kind::kUnschedulable)->pod, "no-room");
  EXPECT_EQ(pods.first(PodProblem::Kind::kWaitingForGang)->pod, "silent");
  EXPECT_EQ(std::ranges::count(pods.problems, PodProblem::Kind::kWaitingForGang, &PodProblem::kind), 2);
  EXPECT_EQ(pods.first(PodProblem::Kind::kImage)->message, "ImagePullBackOff: not found");
  EXPECT_EQ(pods.first(PodProblem::Kind::kCrash)->reason, "OutOfGPUMemory");
  EXPECT_EQ(
      pods.first(PodProblem::Kind::kCrash)->message,
      "exit code 1: the GPU's memory does not suffice: take more GPUs (spec.parallelism.tensor) or a smaller model, "
      "or lower spec.serving.maxModelLen and maxNumSeqs; it said: CUDA out of memory");
  EXPECT_EQ(pods.first(PodProblem::Kind::kConfig), nullptr);
}

TEST(ReadPods, KnowsAPodThatKueueHolds) {
  const Pods pods = read_pods({pod(
      R"({"metadata": {"name": "m-0"}, "spec": {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}, {"name": "kueue.x-k8s.io/topology"}]},
          "status": {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]}})")});
  ASSERT_EQ(pods.problems.size(), 1U);
  EXPECT_EQ(pods.problems[0].kind, PodProblem::Kind::kWaitingForQuota);
}

TEST(ReadPods, AnEngineThatEndsIsAProblemUntilItServesButOneThatHasServedMayEndOnce) {
  const auto problems = [](const char* since, const char* container) {
    return read_pods(
               {pod((std::string(R"({"metadata": {"name": "p"}, "spec": {"nodeName": "n1"}, "status": {"conditions": [
      {"type": "Ready", "status": "False", "lastTransitionTime": ")") +
                     since + R"("}], "containerStatuses": [)" + container + "]}}")
                        .c_str())})
        .problems.size();
  };
  constexpr auto kEnded =
      R"({"name": "engine", "state": {"terminated": {"exitCode": 1, "startedAt": "2026-11-30T12:00:00Z"}}})";
  constexpr auto kAgain =
      R"({"name": "engine", "state": {"running": {}}, "lastState": {"terminated": {"exitCode": 1, "startedAt": "2026-11-30T12:00:00Z"}}})";
  constexpr auto kSidecar =
      R"({"name": "proxy", "state": {"terminated": {"exitCode": 1, "startedAt": "2026-11-30T12:00:00Z"}}})";
  constexpr auto kLoop =
      R"({"name": "proxy", "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": {"exitCode": 1}}})";
  EXPECT_EQ(problems("2026-11-30T11:59:59Z", kEnded), 1U);
  EXPECT_EQ(problems("2026-11-30T11:59:59Z", kAgain), 1U);
  EXPECT_EQ(problems("2026-11-30T12:10:00Z", kEnded), 0U);
  EXPECT_EQ(problems("2026-11-30T11:59:59Z", kSidecar), 0U);
  EXPECT_EQ(problems("2026-11-30T11:59:59Z", kLoop), 1U);
}

TEST(ReadPods, TheNewestRevisionIsThatOfTheLastGroupElseOfTheYoungestPod) {
  EXPECT_EQ(
      read_pods(
          {
              pod(R"({"metadata": {"name": "a", "creationTimestamp": "2026-11-30T12:00:01Z", "labels": {"pod-template-hash": "new"}}})"),
              pod(R"({"metadata": {"name": "b", "creationTimestamp": "2026-11-30T12:00:00Z", "labels": {"pod-template-hash": "old"}}})"),
          })
          .newest,
      "new");
  EXPECT_EQ(read_pods({
                          pod(R"({"metadata": {"name": "m-0", "creationTimestamp": "2026-11-30T12:00:01Z", "labels": {
                            "leaderworkerset.sigs.k8s.io/group-index": "0", "leaderworkerset.sigs.k8s.io/template-revision-hash": "old"}}})"),
                          pod(R"({"metadata": {"name": "m-1", "creationTimestamp": "2026-11-30T12:00:00Z", "labels": {
                            "leaderworkerset.sigs.k8s.io/group-index": "1", "leaderworkerset.sigs.k8s.io/template-revision-hash": "new"}}})"),
                      })
                .newest,
            "new");
}

TEST(ReadPods, JudgesTheReportOfEachPodThatIsChecked) {
  const Pods pods = read_pods({
      pod(R"({"metadata": {"name": "unchecked"}, "spec": {"nodeName": "n1"}, "status": {"initContainerStatuses": [
        {"name": "fetch", "state": {"terminated": {"message": "done"}}}]}})"),
      pod(R"({"metadata": {"name": "held"}, "spec": {"nodeName": "n1"}, "status": {"initContainerStatuses": [
        {"name": "topology-check", "state": {"terminated": {"message": "tensor=2 gpus=2\n GPU0 GPU1\nGPU0 X SYS\nGPU1 SYS X"}}},
        {"name": "topology-gate", "state": {"running": {}}}]}})"),
      pod(R"({"metadata": {"name": "silent"}, "spec": {"nodeName": "n1"}, "status": {"initContainerStatuses": [
        {"name": "topology-check", "state": {"running": {}}}]}})"),
  });
  ASSERT_EQ(pods.topology.size(), 2U);
  EXPECT_EQ(pods.topology[0].pod, "held");
  EXPECT_EQ(pods.topology[0].verdict.value().reason, "CrossesSYS");
  EXPECT_TRUE(pods.topology[0].held);
  EXPECT_EQ(pods.topology[1].pod, "silent");
  EXPECT_FALSE(pods.topology[1].verdict.has_value());
  EXPECT_TRUE(pods.problems.empty());
}

}  // namespace
}  // namespace inference::reconcilers
