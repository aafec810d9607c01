// The life of multi-node groups on the real LeaderWorkerSet controller, scheduler and disruption controller: they grow,
// shrink, roll and fail as wholes.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "e2e/model.h"
#include "e2e/operator_suite.h"

namespace inference::e2e {
namespace {

using namespace client::resources;

const char* const kGroupIndex = "leaderworkerset.sigs.k8s.io/group-index";
const char* const kWorkerIndex = "leaderworkerset.sigs.k8s.io/worker-index";

class GroupTest : public OwnNodesSuite {
 protected:
  GroupTest() : OwnNodesSuite("group") {}
  [[nodiscard]] Json groups(std::int64_t nodes, std::int64_t replicas, const Json& more = Json::object()) const {
    Json spec = {{"nodes", nodes},
                 {"replicas", replicas},
                 {"accelerator", {{"product", ns()}}},
                 {"scheduling", {{"gang", "Native"}}}};
    spec.update(more);
    return model(ns(), "m", spec);
  }
  void apply_and_serve(const Json& object_to_be) {
    cluster_.apply(object_to_be);
    ASSERT_TRUE(eventually([&] { return is_ready(); })) << object().dump(1);
  }
  /// Those that are not on their way out.
  [[nodiscard]] std::vector<Json> pods() {
    std::vector<Json> living = cluster_.list(kPod, ns());
    std::erase_if(living, [](const Json& pod) { return pod["metadata"].contains("deletionTimestamp"); });
    return living;
  }
  /// The one pod of a group with this index, or null.
  [[nodiscard]] Json pod(const std::string& group, const std::string& worker) {
    for (const Json& each : pods()) {
      const Json& labels = each["metadata"]["labels"];
      if (labels.value(kGroupIndex, "") == group && labels.value(kWorkerIndex, "") == worker) return each;
    }
    return nullptr;
  }
  [[nodiscard]] static std::string name_of(const Json& object) { return object.at("metadata").at("name"); }
  [[nodiscard]] Json workload() { return cluster_.get(kLeaderWorkerSet, ns(), "m"); }
  /// PodGroups by name, and how many pods each wants.
  [[nodiscard]] std::map<std::string, std::int64_t> pod_groups() {
    std::map<std::string, std::int64_t> found;
    for (const Json& group : cluster_.list(kPodGroup, ns()))
      found[name_of(group)] = group.at("/spec/schedulingPolicy/gang/minCount"_json_pointer);
    return found;
  }
  [[nodiscard]] Output evict(const std::string& pod_name) const {
    const Json eviction = {
        {"apiVersion", "policy/v1"}, {"kind", "Eviction"}, {"metadata", {{"name", pod_name}, {"namespace", ns()}}}};
    return cluster_.kubectl(
        {"create", "--raw", "/api/v1/namespaces/" + ns() + "/pods/" + pod_name + "/eviction", "-f", "-"},
        eviction.dump());
  }
};

TEST_F(GroupTest, ScalesByWholeGroupsAndLeavesNoPodGroupBehind) {
  cluster_.add_nodes(ns(), 0, 6);
  apply_and_serve(groups(2, 1));
  apply_and_serve(groups(2, 3));
  EXPECT_EQ(pods().size(), 6U);
  EXPECT_EQ(pod_groups(), (std::map<std::string, std::int64_t>{{"m-0", 2}, {"m-1", 2}, {"m-2", 2}}));
  apply_and_serve(groups(2, 1));
  EXPECT_TRUE(eventually([&] { return pods().size() == 2 && pod_groups().size() == 1; })) << Json(pod_groups()).dump();
  EXPECT_TRUE(pod_groups().contains("m-0"));
}

TEST_F(GroupTest, RollsOneGroupAtATimeOnAFullCluster) {
  cluster_.add_nodes(ns(), 0, 6);
  apply_and_serve(groups(2, 3));
  const auto update = groups(2, 3, {{"serving", {{"maxModelLen", 16384}}}});
  cluster_.apply(update);
  std::size_t most = 0;
  std::size_t fewest_whole = 3;
  EXPECT_TRUE(eventually([&] {
    const auto living = pods();
    most = std::max(most, living.size());
    std::map<std::string, int> placed;
    for (const Json& each : living)
      placed[each["metadata"]["labels"].value(kGroupIndex, "")] += each["spec"].contains("nodeName") ? 1 : 0;
    const auto whole = std::ranges::count_if(placed, [](const auto& group) { return group.second == 2; });
    fewest_whole = std::min(fewest_whole, static_cast<std::size_t>(whole));
    return is_ready() && workload()["status"].value("updatedReplicas", 0) == 3;
  })) << object().dump(1);
  EXPECT_LE(most, 6U);
  EXPECT_GE(fewest_whole, 2U);
  for (const Json& each : pods()) EXPECT_NE(each["spec"].dump().find("16384"), std::string::npos) << name_of(each);
}

TEST_F(GroupTest, AGroupThatCanNotStartCostsNoOtherAndDoesNotBlockItsRepair) {
  cluster_.add_nodes(ns(), 0, 6);
  apply_and_serve(groups(2, 3));
  // The local cluster's fake kubelet reports ErrImagePull for this image, as a real one would.
  cluster_.apply(groups(2, 3, {{"engine", {{"image", "registry.invalid/missing:1"}}}}));
  ASSERT_TRUE(eventually([&] { return condition(object(), "Stalled") == "True/ImagePullFailed"; })) << object().dump(1);
  // LeaderWorkerSet counts its groups a moment after their pods.
  EXPECT_TRUE(eventually([&] { return workload()["status"].value("readyReplicas", 0) == 2; })) << workload().dump(1);
  EXPECT_EQ(condition(object(), "Available"), "True/MinimumReplicasAvailable");
  apply_and_serve(groups(2, 3));
  EXPECT_EQ(pods().size(), 6U);
}

TEST_F(GroupTest, GrowsFromTwoNodesToFourAndShrinksToOne) {
  cluster_.add_nodes(ns(), 0, 4);
  apply_and_serve(groups(2, 1));
  apply_and_serve(groups(4, 1));
  EXPECT_EQ(pods().size(), 4U);
  EXPECT_EQ(pod_groups(), (std::map<std::string, std::int64_t>{{"m-0", 4}}));
  apply_and_serve(groups(1, 1));
  EXPECT_TRUE(eventually([&] { return workload().is_null() && pod_groups().empty() && pods().size() == 1; }))
      << pods().size();
}

TEST_F(GroupTest, OnePodThatIsLostRestartsItsGroupOnceAndNoOther) {
  cluster_.add_nodes(ns(), 0, 4);
  apply_and_serve(groups(2, 2));
  const Json other = pod("0", "0");
  const Json leader = pod("1", "0");
  const Json worker = pod("1", "1");
  std::set<std::string> leaders = {leader["metadata"]["uid"]};
  cluster_.remove(kPod, ns(), name_of(worker));
  const auto watch_leader = [&] {
    const Json now = pod("1", "0");
    if (!now.is_null()) leaders.insert(now["metadata"]["uid"].get<std::string>());
  };
  EXPECT_TRUE(eventually([&] {
    watch_leader();
    const Json fresh = pod("1", "1");
    return !fresh.is_null() && fresh["metadata"]["uid"] != worker["metadata"]["uid"] && leaders.size() == 2 &&
           is_ready();
  })) << object().dump(1);
  EXPECT_FALSE(eventually(
      [&] {
        watch_leader();
        return leaders.size() > 2;
      },
      std::chrono::seconds{5}));
  EXPECT_EQ(pod("0", "0")["metadata"]["uid"], other["metadata"]["uid"]);
}

TEST_F(GroupTest, WhileOneGroupIsDownNoPodOfAnotherCanBeEvicted) {
  cluster_.add_nodes(ns(), 0, 4);
  apply_and_serve(groups(2, 2));
  ASSERT_TRUE(eventually([&] {
    return cluster_.get(kPodDisruptionBudget, ns(), "m").value("/status/disruptionsAllowed"_json_pointer, 0) == 1;
  }));
  // The group comes back only when its nodes take pods again.
  const std::vector<std::string> group = {pod("0", "0")["spec"]["nodeName"], pod("0", "1")["spec"]["nodeName"]};
  for (const std::string& node : group) cluster_.must({"cordon", node});
  const std::string worker = name_of(pod("0", "1"));
  const Output first = evict(worker);
  EXPECT_EQ(first.exit_code, 0) << first.text;
  for (const char* index : {"0", "1"}) {
    const Output refused = evict(name_of(pod("1", index)));
    EXPECT_NE(refused.exit_code, 0);
    EXPECT_NE(refused.text.find("disruption budget"), std::string::npos) << refused.text;
  }
  // Its mates are gone, too, and the group is made anew; the other one still serves and still can't be evicted.
  ASSERT_TRUE(eventually([&] { return !pod("0", "0").is_null() && !pod("0", "0")["spec"].contains("nodeName"); }));
  for (const char* index : {"0", "1"}) EXPECT_NE(evict(name_of(pod("1", index))).exit_code, 0) << index;
  for (const std::string& node : group) cluster_.must({"uncordon", node});
  ASSERT_TRUE(eventually([&] { return is_ready(); })) << object().dump(1);
  Output second;
  EXPECT_TRUE(eventually([&] {
    second = evict(name_of(pod("1", "0")));
    return second.exit_code == 0;
  })) << second.text;
}

TEST_F(GroupTest, OneGroupHasNoBudgetAndStatusSaysWhy) {
  cluster_.add_nodes(ns(), 0, 2);
  apply_and_serve(groups(2, 1));
  EXPECT_TRUE(cluster_.list(kPodDisruptionBudget, ns()).empty());
  const Json notices = object()["status"]["notices"];
  EXPECT_TRUE(std::ranges::any_of(notices, [](const Json& notice) {
    return notice.value("reason", "") == "NoDisruptionBudget";
  })) << notices.dump(1);
}

}  // namespace
}  // namespace inference::e2e
