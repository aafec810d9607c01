#include "reconcilers/gates/group.h"

#include <gtest/gtest.h>

#include "reconcilers/gates/fixtures.h"
#include "reconcilers/gates/memory.h"

namespace inference::reconcilers::gates {
namespace {

std::vector<Group> groups_of(const std::vector<Json>& pods) {
  std::vector<Object> objects;
  for (const Json& pod : pods) objects.push_back(std::make_shared<const Json>(pod));
  return read_groups(objects);
}

Json refused_pod() {
  Json pod = member_pod("m", 0, 0, 1);
  pod["spec"].erase("schedulingGates");
  pod["status"]["conditions"] = {{{"type", "PodScheduled"}, {"status", "False"}, {"reason", "Unschedulable"}}};
  return pod;
}

TEST(Group, IsOrderedByAgeThenByName) {
  const auto groups = groups_of(
      {member_pod("b", 0, 0, 1, 8, "2026-11-30T10:00:00Z"), member_pod("a", 10, 0, 1, 8, "2026-11-30T10:00:00Z"),
       member_pod("a", 9, 0, 1, 8, "2026-11-30T10:00:00Z"), member_pod("z", 0, 0, 1, 8, "2026-11-30T09:00:00Z")});
  std::vector<std::string> names;
  for (const Group& group : groups) names.push_back(group.name.leader());
  EXPECT_EQ(names, (std::vector<std::string>{"z-0", "a-9", "a-10", "b-0"}));
}

TEST(Group, IsWholeWhenAllItsPodsAreThereToStay) {
  EXPECT_TRUE(groups_of({member_pod("m", 0, 0, 2), member_pod("m", 0, 1, 2)})[0].whole());
  EXPECT_FALSE(groups_of({member_pod("m", 0, 0, 2)})[0].whole());
  Json leaving = member_pod("m", 0, 1, 2);
  leaving["metadata"]["deletionTimestamp"] = "2026-11-30T10:00:00Z";
  EXPECT_FALSE(groups_of({member_pod("m", 0, 0, 2), leaving})[0].whole());
}

TEST(Group, TellsHeldFromReleasedFromBoundPods) {
  Json pod = member_pod("m", 0, 0, 1);
  pod["spec"]["schedulingGates"].insert(pod["spec"]["schedulingGates"].begin(), Json{{"name", "other"}});
  const Member held = groups_of({pod})[0].members[0];
  EXPECT_EQ(held.state, Member::State::kHeld);
  EXPECT_EQ(held.gate, 1U);
  EXPECT_TRUE(held.held_by_others);
  pod["spec"].erase("schedulingGates");
  EXPECT_EQ(groups_of({pod})[0].members[0].state, Member::State::kReleased);
  pod["spec"]["nodeName"] = "n1";
  EXPECT_EQ(groups_of({pod})[0].members[0].state, Member::State::kBound);
}

TEST(Group, KnowsWhomTheSchedulerRefusesUnlessItMakesRoom) {
  Json pod = refused_pod();
  EXPECT_TRUE(groups_of({pod})[0].members[0].refused);
  pod["status"]["nominatedNodeName"] = "n1";
  EXPECT_FALSE(groups_of({pod})[0].members[0].refused);
}

TEST(Memory, KeepsWhatWasReleasedUntilTheCacheShowsIt) {
  Memory memory;
  auto groups = groups_of({member_pod("m", 0, 0, 1)});
  memory.released(groups[0].members[0]);
  memory.update(groups, TimePoint());
  EXPECT_EQ(groups[0].members[0].state, Member::State::kReleased);
  auto made_anew = groups_of({[] {
    Json pod = member_pod("m", 0, 0, 1);
    pod["metadata"]["uid"] = "another";
    return pod;
  }()});
  memory.update(made_anew, TimePoint());
  EXPECT_EQ(made_anew[0].members[0].state, Member::State::kHeld);
}

TEST(Memory, CountsARefusalFromItsBeginningAndForgetsItWhenItEnds) {
  Memory memory;
  auto groups = groups_of({refused_pod()});
  const TimePoint start{std::chrono::seconds{100}};
  const TimePoint later = start + std::chrono::seconds{20};
  memory.update(groups, start);
  memory.update(groups, later);
  EXPECT_EQ(memory.refused_since(groups[0].members[0], later), start);
  auto accepted = groups;
  accepted[0].members[0].refused = false;
  memory.update(accepted, later);
  memory.update(groups, later);
  EXPECT_EQ(memory.refused_since(groups[0].members[0], later), later);
}

TEST(Memory, PausesLongerAfterEachSplitUntilTheGroupIsPlacedWhole) {
  Memory memory;
  const TimePoint now{std::chrono::seconds{100}};
  const GroupName name{.ns = "llm", .set = "m", .index = 0};
  memory.split(name, "u1", now);
  EXPECT_EQ(memory.not_before(name), now + std::chrono::seconds{10});
  memory.split(name, "u2", now);
  EXPECT_EQ(memory.not_before(name), now + std::chrono::seconds{20});
  EXPECT_TRUE(memory.was_deleted(name, "u2"));
  EXPECT_FALSE(memory.was_deleted(name, "u3"));
  for (int time = 0; time < 20; ++time) memory.split(name, "u", now);
  EXPECT_EQ(memory.not_before(name), now + std::chrono::seconds{600});
  std::vector<Group> none;
  memory.update(none, now);
  EXPECT_EQ(memory.splits(name), 22);
  Json pod = member_pod("m", 0, 0, 1);
  pod["spec"].erase("schedulingGates");
  pod["spec"]["nodeName"] = "n1";
  auto placed = groups_of({pod});
  memory.update(placed, now);
  EXPECT_EQ(memory.splits(name), 0);
}

}  // namespace
}  // namespace inference::reconcilers::gates
