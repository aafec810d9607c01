#include "diagnose/container_end.h"

#include <gtest/gtest.h>

namespace inference::diagnose {
namespace {

/// A pod whose engine is in `state`; Ready changed last at 12:00:00.
Json pod(const Json& container) {
  Json engine = {{"name", "engine"}, {"ready", false}};
  engine.update(container);
  return {{"status",
           {{"conditions", {{{"type", "Ready"}, {"status", "False"}, {"lastTransitionTime", "2026-11-30T12:00:00Z"}}}},
            {"containerStatuses", {engine}}}}};
}

Json terminated(const char* started, int code = 1) {
  return {{"terminated", {{"exitCode", code}, {"reason", "Error"}, {"message", "words"}, {"startedAt", started}}}};
}

TEST(ContainerEnd, IsSeenBeforeAndAfterTheKubeletStartsItAgain) {
  for (const Json& container :
       std::vector<Json>{{{"state", terminated("2026-11-30T12:00:00Z")}},
                         {{"state", {{"running", Json::object()}}}, {"lastState", terminated("2026-11-30T12:00:00Z")}},
                         {{"state", {{"waiting", {{"reason", "CrashLoopBackOff"}}}}},
                          {"lastState", terminated("2026-11-30T12:00:00Z")}}}) {
    const auto end = read_engine_end(pod(container));
    ASSERT_TRUE(end.has_value()) << container;
    EXPECT_EQ(end->words.exit_code, 1);
    EXPECT_EQ(end->words.message, "words");
    EXPECT_FALSE(end->served);
  }
}

TEST(ContainerEnd, IsOverOnceTheContainerIsReadyAgain) {
  EXPECT_FALSE(read_engine_end(pod({{"ready", true}, {"lastState", terminated("2026-11-30T12:00:00Z")}})).has_value());
  EXPECT_FALSE(read_engine_end(pod({{"state", {{"running", Json::object()}}}})).has_value());
  EXPECT_FALSE(read_engine_end(Json::object()).has_value());
}

TEST(ContainerEnd, KnowsWhetherThePodWasReadyMeanwhile) {
  EXPECT_TRUE(read_engine_end(pod({{"state", terminated("2026-11-30T11:00:00Z")}}))->served);
  EXPECT_FALSE(read_engine_end(pod({{"state", terminated("2026-11-30T12:00:05Z")}}))->served);
}

TEST(ContainerEnd, IsAlsoAnEndWithoutAnError) {
  const auto end = read_engine_end(pod({{"state", terminated("2026-11-30T12:00:00Z", 0)}}));
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(describe(*end, read_last_words(end->words)), "exit code 0: it said: words");
}

TEST(ContainerEnd, ReadsWhateverStandsThere) {
  EXPECT_FALSE(read_container_end(Json(), Json("x")).has_value());
  const auto end =
      read_engine_end(pod({{"state", {{"terminated", {{"exitCode", "1"}, {"message", 7}, {"startedAt", nullptr}}}}}}));
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->words.exit_code, 0);
  EXPECT_EQ(end->words.message, "");
  EXPECT_FALSE(end->served);
}

}  // namespace
}  // namespace inference::diagnose
