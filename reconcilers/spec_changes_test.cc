#include "reconcilers/spec_changes.h"

#include <gtest/gtest.h>

#include "base/fake_clock.h"

namespace inference::reconcilers {
namespace {

using std::chrono::seconds;

const client::ObjectRef kModel{"llm", "m"};

Object model(std::int64_t generation, std::int64_t observed) {
  Json object = {{"metadata", {{"generation", generation}}}};
  if (observed != 0) object["status"] = {{"observedGeneration", observed}};
  return std::make_shared<const Json>(std::move(object));
}

class SpecChangesTest : public ::testing::Test {
 protected:
  void see(const Object& before, const Object& after) {
    changes_.see({.ref = kModel, .before = before, .after = after});
  }
  FakeClock clock_;
  SpecChanges changes_{clock_};
};

TEST_F(SpecChangesTest, CountsEachGenerationOnceFromWhenItWasSeen) {
  see(nullptr, model(1, 0));
  clock_.advance(seconds(3));
  EXPECT_EQ(changes_.applied(kModel, 1), seconds(3));
  EXPECT_EQ(changes_.applied(kModel, 1), std::nullopt);
  see(model(1, 0), model(1, 1));
  see(model(1, 1), model(2, 1));
  clock_.advance(seconds(2));
  EXPECT_EQ(changes_.applied(kModel, 2), seconds(2));
}

TEST_F(SpecChangesTest, TakesAnEditOfMetadataForNoChangeOfTheSpec) {
  see(nullptr, model(1, 0));
  clock_.advance(seconds(1));
  see(model(1, 0), model(1, 0));
  EXPECT_EQ(changes_.applied(kModel, 1), seconds(1));
  see(model(1, 0), model(1, 0));
  EXPECT_EQ(changes_.applied(kModel, 1), std::nullopt);
}

TEST_F(SpecChangesTest, LeavesOutWhatWasDealtWithBeforeARestart) {
  see(nullptr, model(4, 4));
  EXPECT_EQ(changes_.applied(kModel, 4), std::nullopt);
}

TEST_F(SpecChangesTest, LeavesOutWhatAnotherReplicaHasDoneWhileThisOneFollowed) {
  see(nullptr, model(1, 0));
  see(model(1, 0), model(1, 1));
  clock_.advance(seconds(3600));
  EXPECT_EQ(changes_.applied(kModel, 1), std::nullopt);
}

TEST_F(SpecChangesTest, GoesOnWaitingAfterAFailureThatStatusTellsOf) {
  see(nullptr, model(1, 0));
  changes_.failed(kModel, 1);
  see(model(1, 0), model(1, 1));
  clock_.advance(seconds(60));
  EXPECT_EQ(changes_.applied(kModel, 1), seconds(60));
}

TEST_F(SpecChangesTest, DoesNotTakeTheOldGenerationsReconcileForTheNewOnes) {
  see(nullptr, model(1, 0));
  see(model(1, 0), model(2, 0));
  EXPECT_EQ(changes_.applied(kModel, 1), std::nullopt);
  clock_.advance(seconds(1));
  EXPECT_EQ(changes_.applied(kModel, 2), seconds(1));
}

TEST_F(SpecChangesTest, ForgetsWhatIsGone) {
  see(nullptr, model(1, 0));
  see(model(1, 0), nullptr);
  EXPECT_EQ(changes_.applied(kModel, 1), std::nullopt);
}

}  // namespace
}  // namespace inference::reconcilers
