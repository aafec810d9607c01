#include "reconcilers/gates/decision.h"

#include <gtest/gtest.h>

#include "reconcilers/gates/fixtures.h"

namespace inference::reconcilers::gates {
namespace {

constexpr TimePoint kNow{std::chrono::seconds{1000}};

/// A cluster as the API server shows it.
struct World {
  std::vector<Json> nodes;
  std::vector<Json> pods;

  void add_group(const std::string& set, int index, const std::vector<int>& gpus,
                 const std::string& created = "2026-11-30T10:00:00Z", const std::string& product = "H100") {
    for (int worker = 0; worker < static_cast<int>(gpus.size()); ++worker)
      pods.push_back(member_pod(set, index, worker, static_cast<int>(gpus.size()),
                                gpus[static_cast<std::size_t>(worker)], created, product));
  }
  Json& pod(const std::string& name) {
    for (Json& pod : pods) {
      if (pod["metadata"]["name"] == name) return pod;
    }
    throw std::logic_error("no pod " + name);
  }
  void release(const std::string& name) { pod(name)["spec"].erase("schedulingGates"); }
  void bind(const std::string& name, const std::string& node) {
    release(name);
    pod(name)["spec"]["nodeName"] = node;
  }
  void refuse(const std::string& name) {
    release(name);
    pod(name)["status"]["conditions"] = {{{"type", "PodScheduled"}, {"status", "False"}, {"reason", "Unschedulable"}}};
  }
  [[nodiscard]] std::vector<Node> read_nodes() const {
    std::vector<Node> result;
    for (const Json& node : nodes) result.push_back(read_node(node));
    for (const Json& pod : pods) occupy(result, pod);
    return result;
  }
  [[nodiscard]] Decision decide(Memory& memory, TimePoint now = kNow) const {
    std::vector<Object> objects;
    for (const Json& pod : pods) objects.push_back(std::make_shared<const Json>(pod));
    std::vector<Group> groups = read_groups(objects);
    memory.update(groups, now);
    return gates::decide(read_nodes(), groups, memory, now);
  }
  [[nodiscard]] Decision decide() const {
    Memory memory;
    return decide(memory);
  }
};

std::vector<std::string> released(const Decision& decision) {
  std::vector<std::string> names;
  for (const Member& member : decision.releases) names.push_back(member.ref.name);
  return names;
}
using Names = std::vector<std::string>;

World cluster(int nodes) {
  World world;
  for (int node = 0; node < nodes; ++node) world.nodes.push_back(node_object("n" + std::to_string(node)));
  return world;
}

TEST(Gates, ReleaseAWholeGroupWhenAllOfItFits) {
  World world = cluster(2);
  world.add_group("m", 0, {8, 8});
  EXPECT_EQ(released(world.decide()), (Names{"m-0", "m-0-1"}));
  EXPECT_TRUE(world.decide().waiting.empty());
}

TEST(Gates, ReleaseNothingOneNodeShortAndSayHowManyGpusAreMissing) {
  World world = cluster(1);
  world.add_group("m", 0, {8, 8});
  const Decision decision = world.decide();
  EXPECT_TRUE(decision.releases.empty());
  ASSERT_EQ(decision.waiting.size(), 1U);
  EXPECT_EQ(decision.waiting[0].owner, (client::ObjectRef{"llm", "m"}));
  EXPECT_EQ(decision.waiting[0].why,
            "group m-0 needs 16 GPUs in 2 pods at once; nodes have room for 1 of them, 8 GPUs are missing; even "
            "without other pods the nodes have room for 1 of them only");
}

TEST(Gates, WaitForTheWholeGroupToExist) {
  World world = cluster(2);
  world.add_group("m", 0, {8, 8});
  world.pods.pop_back();
  const Decision decision = world.decide();
  EXPECT_TRUE(decision.releases.empty());
  EXPECT_TRUE(decision.waiting.empty());
}

TEST(Gates, CountPodsOfAllNamespaces) {
  World world = cluster(2);
  world.add_group("m", 0, {8, 8});
  world.pods.push_back(plain_pod("rival", 1, "n1"));
  EXPECT_TRUE(world.decide().releases.empty());
}

TEST(Gates, HoldAGroupThatFailsAgainAndAgainUntilItsPauseIsOver) {
  World world = cluster(2);
  world.add_group("m", 0, {8, 8});
  const WallTime wall = *parse_rfc3339("2026-11-30T12:00:00Z");
  const GroupName name{"llm", "m", 0};
  Memory memory;
  const auto pause = [&](const std::string& leader, std::chrono::seconds ahead) {
    memory.pause({{name, {name, leader, wall + ahead, 3}}}, kNow, wall);
    return world.decide(memory);
  };
  Decision decision = pause("uid-m-0", std::chrono::seconds{20});
  EXPECT_TRUE(decision.releases.empty());
  EXPECT_EQ(decision.look_again, kNow + std::chrono::seconds{20});
  ASSERT_EQ(decision.waiting.size(), 1U);
  EXPECT_EQ(
      decision.waiting[0].why,
      "group m-0 was made anew 3 times and has not served long enough since: it pauses until 2026-11-30T12:00:20Z");
  decision = pause("uid-of-the-one-before", std::chrono::seconds{-20});
  EXPECT_TRUE(decision.releases.empty()) << "its newest failure is not counted yet";
  EXPECT_EQ(decision.look_again, std::nullopt);
  EXPECT_EQ(released(pause("uid-m-0", std::chrono::seconds{0})), (Names{"m-0", "m-0-1"}));
}

TEST(Gates, APauseKeepsNoNodesFromOthers) {
  World world = cluster(2);
  world.add_group("a", 0, {8, 8}, "2026-11-30T09:00:00Z");
  world.add_group("b", 0, {8, 8});
  const WallTime wall = *parse_rfc3339("2026-11-30T12:00:00Z");
  const GroupName name{"llm", "a", 0};
  Memory memory;
  memory.pause({{name, {name, "uid-a-0", wall + std::chrono::seconds{20}, 3}}}, kNow, wall);
  EXPECT_EQ(released(world.decide(memory)), (Names{"b-0", "b-0-1"}));
}

TEST(Pauses, WakeThoseWhoReleaseOnlyWhenSomethingHasChanged) {
  Pauses pauses;
  int woken = 0;
  pauses.listen([&woken] { ++woken; });
  const Pause pause{.group = {"llm", "m", 0}, .leader_uid = "u", .until = WallTime{}, .restarts = 2};
  pauses.set({"llm", "m"}, {});
  EXPECT_EQ(woken, 0);
  pauses.set({"llm", "m"}, {pause});
  pauses.set({"llm", "m"}, {pause});
  EXPECT_EQ(woken, 1);
  EXPECT_EQ(pauses.all().at(pause.group), pause);
  pauses.set({"llm", "m"}, {});
  EXPECT_EQ(woken, 2);
  EXPECT_TRUE(pauses.all().empty());
}

TEST(Gates, KeepTheRoomOfPodsThatAreReleasedAndNotYetBound) {
  World world = cluster(3);
  world.add_group("a", 0, {8, 8});
  world.add_group("b", 0, {8, 8});
  world.release("a-0");
  world.bind("a-0-1", "n2");
  EXPECT_TRUE(world.decide().releases.empty());
  world.nodes.push_back(node_object("n3"));
  EXPECT_EQ(released(world.decide()), (Names{"b-0", "b-0-1"}));
}

TEST(Gates, CompleteFirstAGroupWhoseReleaseWasCutShort) {
  World world = cluster(2);
  world.add_group("a", 0, {8, 8}, "2026-11-30T09:00:00Z");
  world.add_group("b", 0, {8, 8}, "2026-11-30T10:00:00Z");
  world.release("b-0");
  EXPECT_EQ(released(world.decide()), (Names{"b-0-1"}));
}

TEST(Gates, FindRoomForALeaderSmallerThanItsWorkers) {
  World world = cluster(1);
  world.nodes.push_back(node_object("n1", 4));
  world.add_group("m", 0, {4, 8});  // first fit by name would put the leader onto the worker's node
  EXPECT_EQ(released(world.decide()).size(), 2U);
}

TEST(Gates, FindEachPodOfAGroupANodeThatItMayGoTo) {
  World world;
  for (const char* product : {"H100", "A100", "H100"})
    world.nodes.push_back(node_object(std::string("n") + std::to_string(world.nodes.size()), 8, product));
  world.add_group("m", 0, {8, 8, 8});
  const Decision waits = world.decide();
  EXPECT_TRUE(waits.releases.empty());
  ASSERT_EQ(waits.waiting.size(), 1U);
  EXPECT_NE(waits.waiting[0].why.find("nodes have room for 2 of them, 8 GPUs are missing"), std::string::npos)
      << waits.waiting[0].why;
  world.pod("m-0-1")["spec"]["nodeSelector"] = {{"product", "A100"}};
  EXPECT_EQ(released(world.decide()), (Names{"m-0", "m-0-1", "m-0-2"}));
}

TEST(Gates, ReleaseGroupsInTurnAndKeepTheNodesOfTheOneThatWaits) {
  World world = cluster(4);
  world.add_group("large", 0, {8, 8, 8, 8}, "2026-11-30T09:00:00Z");
  world.add_group("small", 0, {8, 8}, "2026-11-30T10:00:00Z");
  world.pods.push_back(plain_pod("other", 8, "n0"));
  const Decision decision = world.decide();
  EXPECT_TRUE(decision.releases.empty());
  ASSERT_EQ(decision.waiting.size(), 2U);
  EXPECT_EQ(decision.waiting[1].why, "group small-0 would fit, but a group that waits longer comes first");
}

TEST(Gates, LetOthersPassAGroupThatTheEmptyNodesWouldNotHold) {
  World world = cluster(3);
  world.add_group("large", 0, {8, 8, 8, 8}, "2026-11-30T09:00:00Z");
  world.add_group("small", 0, {8, 8}, "2026-11-30T10:00:00Z");
  EXPECT_EQ(released(world.decide()), (Names{"small-0", "small-0-1"}));
}

TEST(Gates, LetAGroupPassOnNodesThatTheOneBeforeItCannotUse) {
  World world = cluster(2);
  world.pods.push_back(plain_pod("other", 8, "n0"));
  world.nodes.push_back(node_object("o0", 8, "A100"));
  world.add_group("waits", 0, {8, 8}, "2026-11-30T09:00:00Z");
  world.add_group("passes", 0, {8}, "2026-11-30T10:00:00Z", "A100");
  EXPECT_EQ(released(world.decide()), (Names{"passes-0"}));
}

TEST(Gates, MakeASplitGroupAnewAfterSomeTimeAndThenPause) {
  World world = cluster(2);
  world.add_group("m", 0, {8, 8});
  world.bind("m-0", "n0");
  world.refuse("m-0-1");
  world.pods.push_back(plain_pod("rival", 8, "n1"));
  Memory memory;
  const Decision early = world.decide(memory);
  EXPECT_TRUE(early.recoveries.empty());
  ASSERT_TRUE(early.look_again.has_value());
  EXPECT_EQ(*early.look_again, kNow + kRefusalPatience);

  const Decision late = world.decide(memory, *early.look_again);
  ASSERT_EQ(late.recoveries.size(), 1U);
  EXPECT_EQ(late.recoveries[0].leader, (client::ObjectRef{"llm", "m-0"}));
  EXPECT_EQ(late.recoveries[0].leader_uid, "uid-m-0");
  memory.split(late.recoveries[0].group, late.recoveries[0].leader_uid, *early.look_again);
  EXPECT_TRUE(world.decide(memory, *early.look_again).recoveries.empty());

  World anew = cluster(2);
  anew.add_group("m", 0, {8, 8});
  for (Json& pod : anew.pods) pod["metadata"]["uid"] = "new-" + pod["metadata"]["name"].get<std::string>();
  const Decision pausing = anew.decide(memory, *early.look_again);
  EXPECT_TRUE(pausing.releases.empty());
  ASSERT_EQ(pausing.waiting.size(), 1U);
  EXPECT_EQ(pausing.waiting[0].why,
            "group m-0 pauses, since other pods took its nodes while it was placed: 1 time in a row");
  EXPECT_EQ(pausing.look_again, *early.look_again + std::chrono::seconds{10});
  EXPECT_EQ(anew.decide(memory, *pausing.look_again).releases.size(), 2U);
}

TEST(Gates, ReleaseNoNewPodOfASplitGroupBesideOneOfBefore) {
  World world = cluster(2);
  world.add_group("m", 0, {8, 8});
  world.refuse("m-0-1");
  Memory memory;
  memory.split({"llm", "m", 0}, "uid-of-before", kNow);
  const Decision decision = world.decide(memory, kNow + std::chrono::seconds{1});
  EXPECT_TRUE(decision.releases.empty());
  EXPECT_EQ(decision.look_again, kNow + std::chrono::seconds{10});
}

TEST(Gates, ReserveNothingForAPodThatTheSchedulerRefusesForLong) {
  World world = cluster(2);
  world.add_group("refused", 0, {8, 8}, "2026-11-30T09:00:00Z");
  world.add_group("m", 0, {8, 8}, "2026-11-30T10:00:00Z");
  world.refuse("refused-0");
  world.refuse("refused-0-1");
  Memory memory;
  EXPECT_TRUE(world.decide(memory).releases.empty());
  const Decision late = world.decide(memory, kNow + kRefusalPatience);
  EXPECT_EQ(released(late), (Names{"m-0", "m-0-1"}));
  EXPECT_TRUE(late.recoveries.empty()) << "it holds no GPU";
}

TEST(Gates, LeaveAGroupToTheGatesOfOthers) {
  World world = cluster(2);
  world.add_group("m", 0, {8, 8});
  world.pod("m-0-1")["spec"]["schedulingGates"].push_back({{"name", "other"}});
  EXPECT_TRUE(world.decide().releases.empty());
  EXPECT_EQ(world.decide().waiting[0].why,
            "group m-0 is held by scheduling gates of others too, which have to go first");
}

}  // namespace
}  // namespace inference::reconcilers::gates
