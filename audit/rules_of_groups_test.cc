#include "audit/fixtures.h"

namespace inference::audit {
namespace {

using namespace fixtures;

const std::string kQueue = "/metadata/labels";
const Paths kGroup = {"spec.leaderWorkerTemplate.leaderTemplate"};

/// good_group() in nobody's hands, with a field in both pods' specs.
Json group(const std::string& key = "", const Json& value = nullptr) {
  Json object = without(good_group(), kQueue);
  for (const char* pod : {kLeader, kWorker}) {
    if (!key.empty()) object = with(object, std::string(pod) + "/" + key, value);
  }
  return object;
}
Json labelled(const char* key) {
  Json object = group();
  for (const char* pod : {"leaderTemplate", "workerTemplate"})
    object["spec"]["leaderWorkerTemplate"][pod]["metadata"]["labels"] = {{key, "x"}};
  return object;
}

TEST(GangScheduling, FindsAGroupInNobodysHands) {
  EXPECT_EQ(places(gang_scheduling, good_group()), Paths{}) << "Kueue";
  EXPECT_EQ(places(gang_scheduling, group()), kGroup);
  EXPECT_EQ(places(gang_scheduling, with(group(), "/spec/leaderWorkerTemplate/size", 1)), Paths{}) << "one node";
  EXPECT_EQ(places(gang_scheduling, good()), Paths{});
}

TEST(GangScheduling, KnowsWhoPlacesAGroupWhole) {
  EXPECT_EQ(places(gang_scheduling, group("schedulerName", "volcano")), Paths{})
      << "LeaderWorkerSet makes the PodGroup";
  EXPECT_EQ(places(gang_scheduling, group("schedulerName", "kai-scheduler")), Paths{});
  EXPECT_EQ(places(gang_scheduling, group("schedulingGates", {{{"name", "example.com/gang"}}})), Paths{});
  EXPECT_EQ(places(gang_scheduling, group("schedulingGroup", {{"podGroupName", "g"}})), Paths{});
  EXPECT_EQ(places(gang_scheduling, labelled("scheduling.x-k8s.io/pod-group")), Paths{});
  EXPECT_EQ(places(gang_scheduling, labelled("inference-operator.dev/gang")), Paths{});
  EXPECT_EQ(places(gang_scheduling, labelled("team")), kGroup);
  EXPECT_EQ(places(gang_scheduling, with(group(), "/spec/scheduling", Json::object())), Paths{});
}

TEST(GangScheduling, FindsASchedulerWithoutAPodGroup) {
  EXPECT_EQ(places(gang_scheduling, group("schedulerName", "my-scheduler")),
            Paths{"spec.leaderWorkerTemplate.leaderTemplate.spec.schedulerName"});
  EXPECT_EQ(places(gang_scheduling, group("schedulerName", "default-scheduler")), kGroup);
  EXPECT_EQ(places(gang_scheduling, with(group(), std::string(kWorker) + "/schedulerName", "volcano")),
            Paths{"spec.leaderWorkerTemplate.workerTemplate.spec.schedulerName"})
      << "two schedulers";
}

TEST(GangScheduling, KnowsGroupsOfOtherKinds) {
  Json set = with_args(good(), {"--model", "/m", "--nnodes", "2", "--node-rank", "$(RANK)"});
  set["kind"] = "StatefulSet";
  EXPECT_EQ(places(gang_scheduling, set), Paths{"spec.template"});
  EXPECT_EQ(places(gang_scheduling, with(set, "/spec/replicas", 1)), Paths{"spec.template"})
      << "the other rank is in another workload";
  EXPECT_EQ(places(gang_scheduling, with_args(good(), {"--model", "/m", "--nnodes", "1"})), Paths{});
  EXPECT_EQ(places(gang_scheduling, with(set, std::string(kPod) + "/schedulerName", "volcano")),
            Paths{"spec.template.spec.schedulerName"})
      << "Volcano's own PodGroup of a StatefulSet asks for one pod";
  EXPECT_EQ(places(gang_scheduling, with(with(set, std::string(kPod) + "/schedulerName", "volcano"),
                                         "/metadata/annotations", {{"scheduling.volcano.sh/group-min-member", "2"}})),
            Paths{});
  EXPECT_EQ(places(gang_scheduling, with(set, "/metadata/labels", {{"kueue.x-k8s.io/queue-name", "q"}})), Paths{});
  set["kind"] = "Deployment";
  EXPECT_EQ(places(gang_scheduling, with(set, "/metadata/labels", {{"kueue.x-k8s.io/queue-name", "q"}})).size(), 1U)
      << "Kueue admits a Deployment's pods one by one";
  Json job = with(good(), std::string(kEngine) + "/command", {"torchrun", "--nnodes=4", "train.py"});
  job["apiVersion"] = "batch/v1";
  job["kind"] = "Job";
  EXPECT_EQ(places(gang_scheduling, with(job, "/spec/parallelism", 4)), Paths{"spec.template"});
  const Json one = with(job, std::string(kEngine) + "/command", {"torchrun", "--node-rank=0", "train.py"});
  EXPECT_EQ(places(gang_scheduling, one), Paths{}) << "parallelism 1, and of how many nodes is not known";
}

TEST(GroupRestart, FindsGroupsThatAreNotRestartedWhole) {
  const std::string policy = "/spec/leaderWorkerTemplate/restartPolicy";
  const Paths place = {"spec.leaderWorkerTemplate.restartPolicy"};
  EXPECT_EQ(places(group_restart, good_group()), Paths{});
  EXPECT_EQ(places(group_restart, without(good_group(), policy)), Paths{}) << "the default";
  EXPECT_EQ(places(group_restart, with(good_group(), policy, "None")), place);
  EXPECT_EQ(places(group_restart, with(good_group(), policy, "Default")), place);
  EXPECT_EQ(founds(group_restart, with(good_group(), policy, "RecreateGroupAfterStart"))[0].severity, Severity::kInfo);
  EXPECT_EQ(places(group_restart, good()), Paths{});
  static_cast<void>(fixed(group_restart, with(good_group(), policy, "None")));
}

}  // namespace
}  // namespace inference::audit
