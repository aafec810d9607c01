#include "reconcilers/failures.h"

#include <gtest/gtest.h>

#include "reconcilers/fixtures.h"

namespace inference::reconcilers {
namespace {

using Kind = PodProblem::Kind;

Pods with(PodProblem problem, const std::string& newest = {}) {
  Pods pods;
  pods.total = 6;
  pods.problems = {std::move(problem)};
  pods.newest = newest;
  return pods;
}

PodProblem crash(const std::string& revision) {
  return {.kind = Kind::kCrash,
          .pod = "m-1",
          .container = "engine",
          .message = "exit code 1",
          .reason = "ContextTooLong",
          .revision = revision};
}

TEST(FirstFailure, IsOfTheNewestRevisionOnly) {
  Workload workload = fixtures::serving(0);
  const auto failure = first_failure(workload, with(crash("r2"), "r2"), nullptr);
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->reason, "ContextTooLong");
  EXPECT_EQ(failure->message, "pod m-1, container engine: exit code 1");
  EXPECT_FALSE(first_failure(workload, with(crash("r1"), "r2"), nullptr).has_value());
  workload.updated = 0;
  EXPECT_FALSE(first_failure(workload, with(crash("r1"), "r1"), nullptr).has_value())
      << "no pod of the new one is there";
  workload.current = false;
  EXPECT_TRUE(first_failure(workload, with(crash("r1"), "r1"), nullptr).has_value()) << "nobody knows yet";
}

FailingGroup failing(std::int64_t restarts, bool served = false) {
  FailingGroup group;
  group.revision = "r1";
  group.restarts = restarts;
  group.served = served;
  group.since = "2026-11-30T12:00:00Z";
  group.reason = "OutOfGPUMemory";
  group.message = "pod m-0-1: exit code 1: words";
  return group;
}

TEST(FirstFailure, NamesTheGroupThatFailsMostOften) {
  const Workload workload = fixtures::serving(0);
  Pods pods;
  pods.newest = "r1";
  GroupRestarts groups;
  EXPECT_FALSE(first_failure(workload, pods, &groups).has_value());
  groups.failing = {failing(1)};
  EXPECT_EQ(first_failure(workload, pods, &groups)->reason, "OutOfGPUMemory");
  groups.failing = {failing(1), failing(3)};
  groups.failing[1].index = 1;
  const auto failure = first_failure(workload, pods, &groups);
  EXPECT_EQ(failure->reason, "GroupRestarting");
  EXPECT_EQ(failure->message,
            "group m-1 was made anew 3 times and has not served for 10 minutes since: OutOfGPUMemory: pod m-0-1: exit "
            "code 1: words");
  groups.failing[1].ready_since = WallTime{};
  EXPECT_EQ(first_failure(workload, pods, &groups)->reason, "OutOfGPUMemory");
  pods.newest = "r2";
  EXPECT_FALSE(first_failure(workload, pods, &groups).has_value());
}

TEST(FirstFailure, AGroupThatHasServedMayFailOnce) {
  const Workload workload = fixtures::serving(0);
  GroupRestarts groups{.total = 1, .failing = {failing(1, true)}};
  EXPECT_FALSE(first_failure(workload, Pods(), &groups).has_value());
  groups.failing = {failing(2, true)};
  EXPECT_TRUE(first_failure(workload, Pods(), &groups).has_value());
}

TEST(PausingGroup, SaysUntilWhen) {
  const Workload workload = fixtures::serving(0);
  GroupRestarts groups{.total = 3, .failing = {failing(3)}};
  EXPECT_EQ(pausing_group(workload, groups), std::nullopt);
  groups.failing[0].held = true;
  EXPECT_EQ(pausing_group(workload, groups), "group m-0 was made anew 3 times and pauses until 2026-11-30T12:00:20Z");
  groups.failing[0].placed = true;
  EXPECT_EQ(pausing_group(workload, groups), std::nullopt);
}

}  // namespace
}  // namespace inference::reconcilers
