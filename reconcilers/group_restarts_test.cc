#include "reconcilers/group_restarts.h"

#include <gtest/gtest.h>

namespace inference::reconcilers {
namespace {

WallTime at(const std::string& time) {
  return *parse_rfc3339("2026-11-30T" + time + "Z");
}

/// The pods of one model's groups, as LeaderWorkerSet makes them: two a group.
struct World {
  std::map<std::string, Json> pods;
  GroupRestarts told = {};
  Leaders leaders = {};
  GroupFailures failures = {};

  void make_group(int index, const std::string& time, const std::string& revision = "r1") {
    for (int worker = 0; worker < 2; ++worker) {
      const std::string name = "m-" + std::to_string(index) + (worker == 0 ? "" : "-1");
      pods[name] = {{"metadata",
                     {{"name", name},
                      {"uid", name + "@" + time},
                      {"creationTimestamp", "2026-11-30T" + time + "Z"},
                      {"labels",
                       {{"leaderworkerset.sigs.k8s.io/group-index", std::to_string(index)},
                        {"leaderworkerset.sigs.k8s.io/worker-index", std::to_string(worker)},
                        {"leaderworkerset.sigs.k8s.io/template-revision-hash", revision}}}}},
                    {"spec", {{"nodeName", "n"}}},
                    {"status", {{"phase", "Running"}}}};
    }
  }
  void ready(int index, const std::string& time) {
    pods["m-" + std::to_string(index)]["status"]["conditions"] = {
        {{"type", "Ready"}, {"status", "True"}, {"lastTransitionTime", "2026-11-30T" + time + "Z"}}};
  }
  void end_engine(const std::string& pod, const std::string& message) {
    pods[pod]["status"]["containerStatuses"] = {
        {{"name", "engine"},
         {"ready", false},
         {"state", {{"terminated", {{"exitCode", 1}, {"reason", "Error"}, {"message", message}}}}}}};
  }
  const GroupRestarts& look(const std::string& time, std::int64_t wanted = 1) {
    std::vector<Object> seen;
    for (const auto& [name, pod] : pods) seen.push_back(std::make_shared<const Json>(pod));
    told = count_restarts(told, seen, {.wanted = wanted, .size = 2}, leaders, failures, at(time));
    return told;
  }
  /// As a new process: nothing is left but what status says.
  void restart_operator() {
    told = GroupRestarts::from_json(told.to_json());
    leaders.clear();
    failures.clear();
  }
};

TEST(GroupRestarts, AGroupThatFailsIsToldAtOnceAndCountedWhenItIsMadeAnew) {
  World world;
  world.make_group(0, "12:00:00");
  EXPECT_EQ(world.look("12:00:01").failing.size(), 0U);
  world.end_engine("m-0", "CUDA out of memory");
  world.look("12:01:00");
  ASSERT_EQ(world.told.failing.size(), 1U);
  EXPECT_EQ(world.told.failing[0].reason, "OutOfGPUMemory");
  EXPECT_EQ(world.told.failing[0].restarts, 0);
  EXPECT_EQ(world.told.total, 0);
  world.make_group(0, "12:01:05");
  world.look("12:01:06");
  EXPECT_EQ(world.told.total, 1);
  ASSERT_EQ(world.told.failing.size(), 1U);
  EXPECT_EQ(world.told.failing[0].restarts, 1);
  EXPECT_EQ(world.told.failing[0].reason, "OutOfGPUMemory");
  EXPECT_NE(world.told.failing[0].message.find("pod m-0: exit code 1"), std::string::npos);
  const GroupRestarts once = world.told;
  EXPECT_EQ(world.look("12:01:07"), once) << "one restart is counted once";
}

TEST(GroupRestarts, TheLastWordsAreKeptOfAPodThatIsGoneBeforeAnyoneLooks) {
  World world;
  world.make_group(0, "12:00:00");
  world.look("12:00:01");
  world.end_engine("m-0-1", "NCCL error");
  note_failure(world.pods["m-0-1"], world.failures);
  world.end_engine("m-0", "CUDA out of memory");
  note_failure(world.pods["m-0"], world.failures);
  world.make_group(0, "12:01:00");
  world.look("12:01:01");
  ASSERT_EQ(world.told.failing.size(), 1U);
  EXPECT_EQ(world.told.failing[0].reason, "OutOfGPUMemory") << "the worker only missed the other";
}

TEST(GroupRestarts, APodThatIsLostCountsToo) {
  World world;
  world.make_group(0, "12:00:00");
  world.look("12:00:01");
  world.make_group(0, "12:01:00");
  world.look("12:01:01");
  EXPECT_EQ(world.told.total, 1);
  EXPECT_EQ(world.told.failing[0].reason, "PodLost");
}

TEST(GroupRestarts, ARolloutIsNoRestartAndForgetsWhatTheOldRevisionSuffered) {
  World world;
  world.make_group(0, "12:00:00");
  world.end_engine("m-0", "CUDA out of memory");
  world.look("12:00:01");
  world.make_group(0, "12:01:00", "r2");
  world.look("12:01:01");
  EXPECT_EQ(world.told.total, 0);
  EXPECT_TRUE(world.told.failing.empty());
}

TEST(GroupRestarts, AGroupThatNeverHadItsNodesWasNotRestarted) {
  World world;
  world.make_group(0, "12:00:00");
  world.pods["m-0-1"]["spec"].erase("nodeName");
  world.look("12:00:01");
  world.make_group(0, "12:01:00");
  world.look("12:01:01");
  EXPECT_EQ(world.told.total, 0);
  EXPECT_TRUE(world.told.failing.empty());
}

TEST(GroupRestarts, ScaledAwayGroupsAreForgotten) {
  World world;
  world.make_group(0, "12:00:00");
  world.make_group(1, "12:00:00");
  world.look("12:00:01", 2);
  world.pods.erase("m-1");
  world.pods.erase("m-1-1");
  world.look("12:01:00", 1);
  world.make_group(1, "12:02:00");
  world.look("12:02:01", 2);
  EXPECT_EQ(world.told.total, 0);
}

TEST(GroupRestarts, OutliveTheOperatorWithoutBeingCountedTwice) {
  World world;
  world.make_group(0, "12:00:00");
  world.look("12:00:01");
  world.end_engine("m-0", "CUDA out of memory");
  world.look("12:00:30");
  world.make_group(0, "12:01:00");
  const GroupRestarts before = world.look("12:01:01");
  world.restart_operator();
  EXPECT_EQ(world.look("12:01:02").total, before.total);
  EXPECT_EQ(world.told.to_json(), before.to_json());
  world.restart_operator();
  world.make_group(0, "12:02:00");
  world.look("12:02:01");
  EXPECT_EQ(world.told.total, 2) << "it failed again while no operator ran";
  EXPECT_EQ(world.told.failing[0].reason, "OutOfGPUMemory");
}

TEST(GroupRestarts, AreForgottenOnceTheGroupHasServedForTenMinutes) {
  World world;
  world.make_group(0, "12:00:00");
  world.look("12:00:01");
  world.make_group(0, "12:01:00");
  world.look("12:01:01");
  world.ready(0, "12:05:00");
  world.look("12:05:01");
  ASSERT_EQ(world.told.failing.size(), 1U);
  EXPECT_EQ(next_change(world.told, at("12:05:01")), at("12:15:00"));
  EXPECT_TRUE(world.look("12:15:00").failing.empty());
  EXPECT_EQ(world.told.total, 1) << "the sum stays";
  EXPECT_EQ(next_change(world.told, at("12:15:00")), std::nullopt);
}

TEST(GroupRestarts, PauseLongerEachTime) {
  FailingGroup group;
  group.since = "2026-11-30T12:00:00Z";
  std::vector<std::int64_t> pauses;
  for (group.restarts = 0; group.restarts < 11; ++group.restarts)
    pauses.push_back(std::chrono::duration_cast<std::chrono::seconds>(group.not_before() - at("12:00:00")).count());
  EXPECT_EQ(pauses, (std::vector<std::int64_t>{0, 0, 10, 20, 40, 80, 160, 320, 600, 600, 600}));
}

TEST(GroupRestarts, HoldTheNextPodsUntilThePauseIsOver) {
  World world;
  world.make_group(0, "12:00:00");
  world.look("12:00:01");
  for (const char* time : {"12:01:00", "12:02:00"}) {
    world.make_group(0, time);
    world.look(time);
  }
  ASSERT_EQ(world.told.failing[0].restarts, 2);
  EXPECT_TRUE(world.told.failing[0].held)
      << "those that run now have their nodes; the next are not to get them at once";
  for (auto& [name, pod] : world.pods) pod["spec"].erase("nodeName");
  EXPECT_TRUE(world.look("12:02:09").failing[0].held);
  EXPECT_EQ(next_change(world.told, at("12:02:09")), at("12:02:10"));
  EXPECT_FALSE(world.look("12:02:10").failing[0].held);
  world.pods.erase("m-0-1");
  EXPECT_TRUE(world.look("12:02:11").failing[0].held) << "not while pods go and come";
  world.pods.clear();
  EXPECT_TRUE(world.look("12:02:12").failing[0].held);
}

TEST(GroupRestarts, ReadWhateverStandsInStatus) {
  EXPECT_EQ(GroupRestarts::from_json(Json()), GroupRestarts());
  EXPECT_EQ(GroupRestarts::from_json({{"restarts", "7"}, {"failing", 3}}), GroupRestarts());
  const GroupRestarts odd =
      GroupRestarts::from_json({{"failing", {{{"index", 1}}, "x", {{"index", 0}, {"since", 5}}}}});
  ASSERT_EQ(odd.failing.size(), 2U);
  EXPECT_EQ(odd.failing[1].index, 1);
}

TEST(GroupWatch, StartsFromStatusOnceAndFromWhatItCountedAfterwards) {
  GroupWatch watch;
  World world;
  const client::ObjectRef owner{"llm", "m"};
  const auto look = [&](const std::string& uid, const std::string& time) {
    std::vector<Object> pods;
    for (const auto& [name, pod] : world.pods) pods.push_back(std::make_shared<const Json>(pod));
    return watch.count(owner, uid, {.total = 5}, pods, {.wanted = 1, .size = 2}, at(time)).total;
  };
  world.make_group(0, "12:00:00");
  EXPECT_EQ(look("u1", "12:00:01"), 5);
  world.make_group(0, "12:01:00");
  EXPECT_EQ(look("u1", "12:01:01"), 6) << "though status still says 5";
  EXPECT_EQ(look("u1", "12:01:02"), 6);
  EXPECT_EQ(look("u2", "12:01:03"), 5) << "another object of the same name";
}

}  // namespace
}  // namespace inference::reconcilers
