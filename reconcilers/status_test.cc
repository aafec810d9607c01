#include "reconcilers/status.h"

#include <gtest/gtest.h>

#include <set>

#include "crd/conditions.h"
#include "reconcilers/fixtures.h"

namespace inference::reconcilers {
namespace {

using namespace fixtures;

struct Phase {
  const char* says;
  std::function<void(StatusInput&)> arrange;
  std::map<std::string, std::string> expected;
};

const render::Rendered kRendered = six_replicas();
const render::Refusal kRefusal{"NotSupported", {{"spec.model.uri", "hf:// is not available"}}};

const std::vector<Phase>& phases() {
  using Kind = PodProblem::Kind;
  static const std::vector<Phase> all = {
      {"first sight",
       [](StatusInput&) {},
       {{"Ready", "Unknown/Applying"},
        {"Resolved", "True/Resolved"},
        {"CacheReady", "True/NotUsed"},
        {"Scheduled", "Unknown/NoPods"},
        {"Available", "Unknown/NoWorkload"},
        {"Progressing", "True/Applying"},
        {"TopologyVerified", "Unknown/NotChecked"},
        {"Reconciling", "True/Applying"},
        {"Stalled", "absent"}}},
      {"loading",
       [](StatusInput& in) {
         in.workload = serving(0);
         in.pods = {6, 6, {}};
       },
       {{"Ready", "Unknown/Loading"},
        {"Scheduled", "True/AllPodsPlaced"},
        {"Available", "False/MinimumReplicasUnavailable"},
        {"Progressing", "True/RollingOut"},
        {"Reconciling", "True/Loading"}}},
      {"all serve",
       [](StatusInput& in) {
         in.workload = serving(6);
         in.pods = {6, 6, {}};
       },
       {{"Ready", "True/AllReplicasReady"},
        {"Available", "True/MinimumReplicasAvailable"},
        {"Progressing", "True/RolloutComplete"},
        {"Reconciling", "absent"},
        {"Stalled", "absent"}}},
      {"a rollout takes one out",
       [](StatusInput& in) {
         in.workload = serving(5);
         in.workload.updated = 2;
         in.pods = {6, 6, {}};
       },
       {{"Ready", "Unknown/Loading"},
        {"Available", "True/MinimumReplicasAvailable"},
        {"Progressing", "True/RollingOut"}}},
      {"an old status of the workload proves nothing",
       [](StatusInput& in) {
         in.workload = serving(6);
         in.workload.current = false;
         in.pods = {6, 6, {}};
       },
       {{"Ready", "Unknown/Applying"}, {"Progressing", "True/Applying"}}},
      {"no GPUs",
       [](StatusInput& in) {
         in.workload = serving(5);
         in.pods = {6, 5, {{Kind::kUnschedulable, "m-1", "", "1 Insufficient nvidia.com/gpu."}}};
       },
       {{"Ready", "Unknown/InsufficientGPU"}, {"Scheduled", "False/InsufficientGPU"}, {"Stalled", "absent"}}},
      {"no node for another reason",
       [](StatusInput& in) {
         in.workload = serving(5);
         in.pods = {6, 5, {{Kind::kUnschedulable, "m-1", "", "1 node(s) had untolerated taint"}}};
       },
       {{"Scheduled", "False/Unschedulable"}}},
      {"a group of which one pod had room",
       [](StatusInput& in) {
         in.workload = serving(4);
         in.pods = {6,
                    4,
                    {{Kind::kUnschedulable, "m-1", "", "minCount (2) cannot be satisfied: 1 scheduled, 0 remaining"},
                     {Kind::kUnschedulable, "m-1-1", "", "1 Insufficient nvidia.com/gpu."}}};
       },
       {{"Scheduled", "False/InsufficientGPU"}}},
      {"half a gang",
       [](StatusInput& in) {
         in.workload = serving(5);
         in.pods = {6, 5, {{Kind::kWaitingForGang, "m-1", "", "waits"}}};
       },
       {{"Scheduled", "False/WaitingForGang"}, {"Ready", "Unknown/WaitingForGang"}}},
      {"groups that wait for quota",
       [](StatusInput& in) {
         in.workload = serving(5);
         in.pods = {6, 5, {{Kind::kWaitingForQuota, "m-1", "", "is held by Kueue"}}};
       },
       {{"Scheduled", "False/WaitingForQuota"}, {"Ready", "Unknown/WaitingForQuota"}}},
      {"quota was not enough to place a group whole",
       [](StatusInput& in) {
         in.workload = serving(4);
         in.pods = {6,
                    4,
                    {{Kind::kWaitingForQuota, "m-1", "", "is held by Kueue"},
                     {Kind::kUnschedulable, "m-2", "", "1 Insufficient nvidia.com/gpu."}}};
       },
       {{"Scheduled", "False/InsufficientGPU"}}},
      {"a group behind our gates",
       [](StatusInput& in) {
         in.workload = serving(5);
         in.pods = {6, 5, {{Kind::kWaitingForGang, "m-1", "", "is held"}}};
         in.gated = "group m-1 needs 8 GPUs";
       },
       {{"Scheduled", "False/WaitingForGang"}, {"Ready", "Unknown/WaitingForGang"}}},
      {"a group behind our gates for too long",
       [](StatusInput& in) {
         in.workload = serving(5);
         in.pods = {6, 5, {{Kind::kWaitingForGang, "m-1", "", "is held"}}};
         in.gated = "group m-1 needs 8 GPUs";
         in.gated_too_long = true;
       },
       {{"Scheduled", "False/GatedTooLong"}, {"Ready", "Unknown/GatedTooLong"}}},
      {"a scheduler that knows no groups places half of one",
       [](StatusInput& in) {
         in.workload = serving(5);
         in.pods = {6, 5, {{Kind::kUnschedulable, "m-1", "", "1 Insufficient nvidia.com/gpu."}}};
         in.unheeded_group = "m-1";
       },
       {{"Scheduled", "False/SchedulerLacksGang"}, {"Ready", "Unknown/SchedulerLacksGang"}}},
      {"a scheduler that knows no groups had room for all",
       [](StatusInput& in) {
         in.workload = serving(6);
         in.pods = {6, 6, {}};
         in.unheeded_group = "m-1";
       },
       {{"Scheduled", "True/SchedulerLacksGang"}, {"Ready", "True/AllReplicasReady"}}},
      {"no pod can be made",
       [](StatusInput& in) {
         in.workload = serving(0);
         in.workload.create_failed = "pods \"m-1\" is forbidden: violates PodSecurity";
       },
       {{"Ready", "False/FailedCreate"}, {"Stalled", "True/FailedCreate"}, {"Scheduled", "Unknown/PodsMissing"}}},
      {"no pods yet",
       [](StatusInput& in) { in.workload = serving(0); },
       {{"Ready", "Unknown/PodsMissing"}, {"Scheduled", "Unknown/PodsMissing"}}},
      {"paused by hand",
       [](StatusInput& in) {
         in.workload = serving(5);
         in.workload.paused = true;
         in.pods = {6, 6, {}};
       },
       {{"Ready", "Unknown/Paused"}}},
      {"all serve, but not for long enough",
       [](StatusInput& in) {
         in.workload = serving(6);
         in.workload.available = 2;
         in.pods = {6, 6, {}};
       },
       {{"Ready", "Unknown/Stabilizing"}}},
      {"an image that can't be pulled",
       [](StatusInput& in) {
         in.workload = serving(5);
         in.pods = {6, 6, {{Kind::kImage, "m-1", "engine", "ErrImagePull: not found"}}};
       },
       {{"Ready", "False/ImagePullFailed"},
        {"Available", "True/MinimumReplicasAvailable"},
        {"Progressing", "False/ImagePullFailed"},
        {"Stalled", "True/ImagePullFailed"},
        {"Reconciling", "absent"}}},
      {"an engine that ends",
       [](StatusInput& in) {
         in.workload = serving(0);
         in.pods = {6, 6, {{Kind::kCrash, "m-1", "engine", "exit code 1", "ContextTooLong"}}};
       },
       {{"Ready", "False/ContextTooLong"},
        {"Stalled", "True/ContextTooLong"},
        {"Progressing", "False/ContextTooLong"}}},
      {"the deadline has passed",
       [](StatusInput& in) {
         in.workload = serving(5);
         in.workload.deadline_exceeded = "ReplicaSet has timed out progressing";
         in.pods = {6, 6, {}};
       },
       {{"Ready", "False/ProgressDeadlineExceeded"},
        {"Progressing", "False/ProgressDeadlineExceeded"},
        {"Stalled", "True/ProgressDeadlineExceeded"}}},
      {"a foreign object in the way",
       [](StatusInput& in) {
         in.failures = {{ApplyFailure::Kind::kForeign, "Service llm/m-serve", "nobody controls it"}};
       },
       {{"Ready", "False/Conflict"}, {"Stalled", "True/Conflict"}}},
      {"a missing right",
       [](StatusInput& in) {
         in.failures = {{ApplyFailure::Kind::kForbidden, "Service llm/m-serve", "cannot patch"}};
       },
       {{"Ready", "False/Forbidden"}, {"Stalled", "True/Forbidden"}}},
      {"a write that fails for now",
       [](StatusInput& in) {
         in.failures = {{ApplyFailure::Kind::kTransient, "Service llm/m-serve", "503"}};
       },
       {{"Ready", "Unknown/ApplyFailed"}, {"Stalled", "absent"}, {"Reconciling", "True/ApplyFailed"}}},
      {"refused while the last good spec serves",
       [](StatusInput& in) {
         in.rendered = nullptr;
         in.refusal = &kRefusal;
         in.workload = serving(6);
         in.pods = {6, 6, {}};
       },
       {{"Ready", "False/NotSupported"},
        {"Resolved", "False/NotSupported"},
        {"CacheReady", "Unknown/NotSupported"},
        {"Available", "True/MinimumReplicasAvailable"},
        {"Stalled", "True/NotSupported"}}},
  };
  return all;
}

TEST(Status, EveryConditionFollowsFromThePhase) {
  for (const auto& phase : phases()) {
    StatusInput in{.generation = 3, .rendered = &kRendered, .model_uri = "file:///m"};
    phase.arrange(in);
    const Json status = compute_status(in, kThen);
    for (const auto& [type, expected] : phase.expected)
      EXPECT_EQ(verdict(status, type), expected) << phase.says << ": " << type;
  }
}

TEST(Status, TellsFromTheSchedulersWordsThatGpusAreMissing) {
  const Json claims = {{"mode", "DRA"}};
  const Json slices = {{"resourceName", "nvidia.com/mig-1g.10gb"}};
  const Json amd = {{"resourceName", "amd.com/gpu"}};
  const Json domain = {{"resourceName", "nvidia.com/gpu"}, {"computeDomain", true}};
  struct Row {
    Json accelerator;
    const char* words;
    const char* reason;
  };
  // As Kubernetes 1.37 puts them.
  for (const Row& row : {
           Row{claims, "0/2 nodes are available: 2 cannot allocate all claims. still not schedulable",
               "InsufficientGPU"},
           Row{claims, "0/3 nodes are available: 1 Insufficient cpu, 2 cannot allocate all claims.", "InsufficientGPU"},
           Row{claims, "0/2 nodes are available: 2 Insufficient cpu.", "Unschedulable"},
           Row{claims, "request gpus: device class gpu.nvidia.com does not exist", "Unschedulable"},
           Row{claims, "0/1 nodes are available: 1 invalid resource pools were encountered.", "Unschedulable"},
           Row{slices, "0/2 nodes are available: 2 Insufficient nvidia.com/mig-1g.10gb.", "InsufficientGPU"},
           Row{slices, "0/2 nodes are available: 2 Insufficient rdma/ib.", "Unschedulable"},
           Row{amd, "0/2 nodes are available: 2 Insufficient amd.com/gpu.", "InsufficientGPU"},
           // A DeviceClass with an extendedResourceName gives devices to those who ask for that resource.
           Row{amd, "0/2 nodes are available: 2 cannot allocate all claims.", "InsufficientGPU"},
           Row{domain, "0/2 nodes are available: 2 Insufficient nvidia.com/gpu.", "InsufficientGPU"},
           Row{domain, "0/2 nodes are available: 2 cannot allocate all claims.", "Unschedulable"},
       }) {
    render::Rendered rendered = kRendered;
    rendered.resolved["accelerator"] = row.accelerator;
    StatusInput in{.generation = 3, .rendered = &rendered, .workload = serving(4)};
    in.pods = {6, 4, {{PodProblem::Kind::kUnschedulable, "m-1", "", row.words}}};
    const Json found = condition(compute_status(in, kThen), "Scheduled");
    EXPECT_EQ(found["reason"], row.reason) << row.accelerator << row.words;
    EXPECT_EQ(found["message"], std::string("2 of 6 pods have no node for 16 GPUs; pod m-1: ") + row.words);
  }
}

TEST(Status, CountsTheGpusThatWaitAlsoWhileTheNextSpecIsRefused) {
  StatusInput in{.generation = 1, .rendered = &kRendered, .workload = serving(5)};
  in.pods = {6, 5, {{PodProblem::Kind::kUnschedulable, "m-1", "", "1 Insufficient nvidia.com/gpu."}}};
  const Json good = compute_status(in, kThen);
  in.generation = 2;
  in.previous = &good;
  in.rendered = nullptr;
  in.refusal = &kRefusal;
  EXPECT_EQ(condition(compute_status(in, kLater), "Scheduled")["message"], condition(good, "Scheduled")["message"]);
}

TEST(Status, TheFullSetIsThereInEveryPhaseAndSpeaksOfThisGeneration) {
  for (const auto& phase : phases()) {
    StatusInput in{.generation = 3, .rendered = &kRendered, .model_uri = "file:///m"};
    phase.arrange(in);
    const Json status = compute_status(in, kThen);
    EXPECT_EQ(status["observedGeneration"], 3);
    for (const char* type :
         {"Ready", "Resolved", "CacheReady", "Scheduled", "Available", "Progressing", "TopologyVerified"}) {
      const Json found = condition(status, type);
      ASSERT_FALSE(found.is_null()) << phase.says << ": " << type;
      EXPECT_EQ(found["observedGeneration"], 3);
      EXPECT_FALSE(found["message"].get<std::string>().empty()) << phase.says << ": " << type;
    }
  }
}

TEST(Status, DoesNotChangeWithTimeAlone) {
  for (const auto& phase : phases()) {
    StatusInput in{.generation = 3, .rendered = &kRendered, .model_uri = "file:///m"};
    phase.arrange(in);
    const Json before = compute_status(in, kThen);
    in.previous = &before;
    EXPECT_EQ(compute_status(in, kLater), before) << phase.says;
    EXPECT_TRUE(transitions(&before, before).empty()) << phase.says;
  }
}

TEST(Status, ARefusalKeepsWhatIsKnownOfWhatRuns) {
  StatusInput in{.generation = 1, .rendered = &kRendered, .workload = serving(6)};
  const Json good = compute_status(in, kThen);
  StatusInput refused{.generation = 2, .previous = &good, .refusal = &kRefusal, .workload = serving(6)};
  const Json status = compute_status(refused, kLater);
  EXPECT_EQ(status["resolved"], good["resolved"]);
  EXPECT_EQ(status["selector"], good["selector"]);
  EXPECT_EQ(condition(status, "Resolved")["message"], "spec.model.uri: hf:// is not available");
}

TEST(Transitions, AreToldOnceAndOnlyWhenTheyHappen) {
  StatusInput in{.generation = 1, .rendered = &kRendered, .workload = serving(0), .pods = {6, 6, {}}};
  const Json loading = compute_status(in, kThen);
  EXPECT_TRUE(transitions(nullptr, loading).empty());
  in.previous = &loading;
  in.workload = serving(6);
  const Json ready = compute_status(in, kLater);
  const auto told = transitions(&loading, ready);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].reason, "AllReplicasReady");
  EXPECT_FALSE(told[0].warning);
  in.pods.problems = {{PodProblem::Kind::kImage, "m-1", "engine", "ErrImagePull"}};
  const auto failed = transitions(&ready, compute_status(in, kLater));
  ASSERT_EQ(failed.size(), 1U);
  EXPECT_TRUE(failed[0].warning);
}

TEST(Transitions, WarnOnceOfAGroupThatWaitsTooLong) {
  StatusInput in{.generation = 1, .rendered = &kRendered, .workload = serving(0), .pods = {6, 5, {}}, .gated = "why"};
  const Json waiting = compute_status(in, kThen);
  EXPECT_TRUE(transitions(nullptr, waiting).empty());
  in.gated_too_long = true;
  in.previous = &waiting;
  const Json too_long = compute_status(in, kLater);
  const auto told = transitions(&waiting, too_long);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_TRUE(told[0].warning);
  EXPECT_EQ(told[0].message, "1 of 6 pods have no node for 8 GPUs; why");
  EXPECT_TRUE(transitions(&too_long, too_long).empty());
}

TEST(Status, TellsHowGroupsFareAndHowLongOnePauses) {
  FailingGroup group;
  group.index = 1;
  group.leader = "uid";
  group.restarts = 3;
  group.since = kThen;
  group.reason = "OutOfGPUMemory";
  group.message = "pod m-1: exit code 1";
  group.held = true;
  const GroupRestarts groups{.total = 7, .failing = {group}};
  StatusInput in{.generation = 1, .rendered = &kRendered, .workload = serving(5)};
  in.pods = {12, 10, {{PodProblem::Kind::kWaitingForGang, "m-1", "", "waits"}}};
  in.groups = &groups;
  const Json status = compute_status(in, kThen);
  EXPECT_EQ(status["groups"]["restarts"], 7);
  EXPECT_EQ(status["groups"]["failing"][0]["restarts"], 3);
  EXPECT_EQ(verdict(status, "Ready"), "False/GroupRestarting");
  EXPECT_EQ(
      condition(status, "Scheduled")["message"],
      "2 of 12 pods have no node for 16 GPUs; group m-1 was made anew 3 times and pauses until 2026-11-30T12:00:20Z");
  in.groups = nullptr;
  EXPECT_FALSE(compute_status(in, kThen).contains("groups"));
}

TEST(Status, SaysWhatToChangeWherePodsAskForMoreGpusThanWasMeant) {
  render::Rendered rendered = six_replicas();
  rendered.notices = {{render::kTensorOverNodes, "spec.parallelism.tensor", "set spec.parallelism.pipeline to 1"}};
  StatusInput in{.generation = 1, .rendered = &rendered, .workload = serving(0)};
  in.pods = {
      6, 0, {{PodProblem::Kind::kUnschedulable, "m-0", "", "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."}}};
  EXPECT_TRUE(condition(compute_status(in, kThen), "Scheduled")["message"].get<std::string>().ends_with(
      "; set spec.parallelism.pipeline to 1"));
}

TEST(SaysSomethingNew, TellsCountsAndMessagesFromTurns) {
  StatusInput in;
  in.rendered = &kRendered;
  in.workload = serving(2);
  in.pods = {6, 6, {}};
  const Json before = compute_status(in, kThen);
  in.workload.ready = 3;
  EXPECT_FALSE(says_something_new(&before, compute_status(in, kLater)));
  in.workload = serving(6);
  EXPECT_TRUE(says_something_new(&before, compute_status(in, kLater)));
  EXPECT_TRUE(says_something_new(nullptr, before));
}

TEST(ComputeStatus, NamesEveryObjectThatIsInTheWay) {
  StatusInput in;
  in.rendered = &kRendered;
  in.failures = {{ApplyFailure::Kind::kForeign, "ConfigMap llm/m-drain", "nobody controls it"},
                 {ApplyFailure::Kind::kForbidden, "PodDisruptionBudget llm/m", "no"},
                 {ApplyFailure::Kind::kForeign, "Service llm/m-serve", "Foo x controls it"}};
  EXPECT_EQ(condition(compute_status(in, kThen), "Stalled")["message"],
            "ConfigMap llm/m-drain exists and is not ours, so it is left alone: nobody controls it; "
            "Service llm/m-serve exists and is not ours, so it is left alone: Foo x controls it");
}

}  // namespace
}  // namespace inference::reconcilers
