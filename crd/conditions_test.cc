#include "crd/conditions.h"

#include <gtest/gtest.h>

namespace inference::crd {
namespace {

constexpr const char* kEarlier = "2026-11-30T12:00:00Z";
constexpr const char* kLater = "2026-11-30T12:05:00Z";

Condition condition(std::string type, ConditionStatus status, std::string reason) {
  return {.type = std::move(type),
          .status = status,
          .reason = std::move(reason),
          .message = "",
          .last_transition_time = "",
          .observed_generation = 1};
}

TEST(Conditions, KeepTheirTransitionTimeWhileTheStatusStays) {
  Conditions conditions;
  conditions.set(condition("Ready", ConditionStatus::kUnknown, "Progressing"), kEarlier);
  conditions.set(condition("Ready", ConditionStatus::kUnknown, "Loading"), kLater);
  EXPECT_EQ(conditions.find("Ready")->last_transition_time, kEarlier);
  EXPECT_EQ(conditions.find("Ready")->reason, "Loading");
}

TEST(Conditions, TakeANewTransitionTimeWhenTheStatusChanges) {
  Conditions conditions;
  conditions.set(condition("Ready", ConditionStatus::kUnknown, "Progressing"), kEarlier);
  conditions.set(condition("Ready", ConditionStatus::kTrue, "AllReplicasReady"), kLater);
  EXPECT_EQ(conditions.find("Ready")->last_transition_time, kLater);
}

TEST(Conditions, StandInOneOrderHoweverTheyWereSet) {
  Conditions conditions;
  for (const char* type : {"Zeta", "Stalled", "Available", "Alpha", "Ready", "Resolved"}) {
    conditions.set(condition(type, ConditionStatus::kTrue, "R"), kEarlier);
  }
  std::vector<std::string> types;
  for (const auto& each : conditions.all()) types.push_back(each.type);
  EXPECT_EQ(types, (std::vector<std::string>{"Ready", "Resolved", "Available", "Stalled", "Alpha", "Zeta"}));
  conditions.remove("Stalled");
  EXPECT_EQ(conditions.find("Stalled"), nullptr);
  EXPECT_EQ(conditions.all().size(), 5U);
}

TEST(Conditions, SurviveTheWayThroughJson) {
  Conditions conditions;
  conditions.set(condition("Ready", ConditionStatus::kFalse, "Degraded"), kEarlier);
  conditions.set(condition("Resolved", ConditionStatus::kTrue, "Resolved"), kLater);
  EXPECT_EQ(Conditions::from_json(conditions.to_json()), conditions);
}

TEST(Conditions, ReadLenientlyWhatIsNoCondition) {
  const Json list = Json::parse(
      R"([1, null, {"type": "Ready"}, {"type": 3, "status": "True"}, {"type": "Resolved", "status": "Maybe"},
                                   {"type": "Scheduled", "status": "True", "observedGeneration": "x"}, {"type": "Scheduled", "status": "False"}])");
  const Conditions conditions = Conditions::from_json(list);
  ASSERT_EQ(conditions.all().size(), 1U);
  EXPECT_EQ(conditions.find("Scheduled")->status, ConditionStatus::kTrue);
  EXPECT_TRUE(Conditions::from_json(Json("text")).all().empty());
}

TEST(Conditions, CutAMessageAtACharacter) {
  Conditions conditions;
  Condition long_one = condition("Ready", ConditionStatus::kFalse, "Degraded");
  long_one.message = std::string(32767, 'a') + "ü" + "tail";
  conditions.set(long_one, kEarlier);
  EXPECT_EQ(conditions.find("Ready")->message, std::string(32767, 'a'));
}

}  // namespace
}  // namespace inference::crd
