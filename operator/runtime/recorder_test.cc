#include "operator/runtime/recorder.h"

#include <gtest/gtest.h>

#include "base/fake_clock.h"

namespace inference::runtime {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

const Json kObject = {{"apiVersion", "inference-operator.dev/v1alpha1"},
                      {"kind", "InferenceDeployment"},
                      {"metadata", {{"namespace", "team"}, {"name", "llama"}, {"uid", "u1"}}},
                      {"spec", {{"secret", "not for events"}}}};

EventNote note(const std::string& text) {
  return {.type = EventNote::Type::kNormal, .reason = "Applied", .action = "Apply", .note = text};
}

class RecorderTest : public testing::Test {
 protected:
  FakeClock clock_;
  SeededRandom random_{1};
  Metrics metrics_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t awaited_ = 0;    // guarded by mutex_: one wake-up in all, not one a write
  std::vector<Json> written_;  // guarded by mutex_
  std::function<std::expected<void, client::ApiError>(std::stop_token)> server_ = [](std::stop_token) {
    return std::expected<void, client::ApiError>{};
  };
  Recorder recorder_{{.instance = "operator-0"},
                     [this](const Json& event, std::stop_token stop) {
                       {
                         const std::scoped_lock lock(mutex_);
                         written_.push_back(event);
                         if (written_.size() == awaited_) changed_.notify_all();
                       }
                       return server_(stop);
                     },
                     metrics_,
                     clock_,
                     random_};

  // What was written once `count` writes have begun and the thread waits again.
  std::vector<Json> written(std::size_t count) {
    {
      std::unique_lock lock(mutex_);
      awaited_ = count;
      EXPECT_TRUE(changed_.wait_for(lock, seconds{60}, [&] { return written_.size() >= count; }));
    }
    EXPECT_TRUE(clock_.wait_for_sleepers(1));
    const std::scoped_lock lock(mutex_);
    return written_;
  }
  [[nodiscard]] bool dropped(int count) const {
    return metrics_.to_text().find("events_dropped_total " + std::to_string(count) + "\n") != std::string::npos;
  }
};

TEST_F(RecorderTest, WritesAnEventAsTheApiWantsIt) {
  recorder_.record(kObject, note("applied 4 objects"));
  recorder_.start();
  const auto events = written(1);
  ASSERT_EQ(events.size(), 1u);
  Json event = events[0];
  const std::string name = event["metadata"]["name"];
  EXPECT_EQ(name.size(), std::string("llama.").size() + 13);
  EXPECT_EQ(name.substr(0, 6), "llama.");
  event["metadata"].erase("name");
  const Json expected = {{"apiVersion", "events.k8s.io/v1"},
                         {"kind", "Event"},
                         {"metadata", {{"namespace", "team"}}},
                         {"eventTime", to_rfc3339_micro(clock_.wall_now())},
                         {"reportingController", "inference-operator.dev/inference-operator"},
                         {"reportingInstance", "operator-0"},
                         {"type", "Normal"},
                         {"reason", "Applied"},
                         {"action", "Apply"},
                         {"note", "applied 4 objects"},
                         {"regarding",
                          {{"apiVersion", "inference-operator.dev/v1alpha1"},
                           {"kind", "InferenceDeployment"},
                           {"namespace", "team"},
                           {"name", "llama"},
                           {"uid", "u1"}}}};
  EXPECT_EQ(event, expected);
}

TEST_F(RecorderTest, CountsTheSameNoteAsASeriesOfOneEvent) {
  recorder_.start();
  recorder_.record(kObject, note("same"));
  const std::string name = written(1).at(0)["metadata"]["name"];
  clock_.advance(minutes{9});
  recorder_.record(kObject, note("same"));
  auto events = written(2);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[1]["metadata"]["name"], name);
  EXPECT_EQ(events[1]["series"]["count"], 2);
  EXPECT_EQ(events[1]["series"]["lastObservedTime"], to_rfc3339_micro(clock_.wall_now()));
  EXPECT_EQ(events[1]["eventTime"], events[0]["eventTime"]) << "immutable";

  clock_.advance(minutes{10});
  recorder_.record(kObject, note("same"));
  recorder_.record(kObject, note("other"));
  events = written(4);
  ASSERT_EQ(events.size(), 4u);
  EXPECT_NE(events[2]["metadata"]["name"], name) << "ten minutes later it is news again";
  EXPECT_FALSE(events[2].contains("series"));
  EXPECT_FALSE(events[3].contains("series"));
}

TEST_F(RecorderTest, WritesWhatHappensTwiceBeforeItIsWrittenOnlyOnce) {
  for (int i = 0; i < 5; ++i) recorder_.record(kObject, note("same"));
  recorder_.start();
  const auto events = written(1);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]["series"]["count"], 5);
}

TEST_F(RecorderTest, PutsEventsOfClusterScopedObjectsIntoDefault) {
  recorder_.start();
  recorder_.record({{"kind", "InferenceProfile"}, {"metadata", {{"name", "h100"}}}}, note("x"));
  const Json event = written(1).at(0);
  EXPECT_EQ(event["metadata"]["namespace"], "default");
  EXPECT_FALSE(event["regarding"].contains("namespace"));
}

TEST_F(RecorderTest, CutsLongNotesBetweenCharactersAndLongNames) {
  recorder_.start();
  Json object = kObject;
  object["metadata"]["name"] = std::string(238, 'a') + "-" + std::string(14, 'b');
  std::string text(1023, 'x');
  text += "é";  // two bytes, of which one would fit
  recorder_.record(object, note(text));
  const Json event = written(1).at(0);
  EXPECT_EQ(event["note"], std::string(1023, 'x'));
  const std::string name = event["metadata"]["name"];
  EXPECT_LE(name.size(), 253u);
  EXPECT_EQ(name.substr(237, 2), "a.") << "a dash before the dot would be no DNS name";
}

TEST_F(RecorderTest, TriesAgainWhenTheServerIsAwayThenDrops) {
  server_ = [](std::stop_token) -> std::expected<void, client::ApiError> {
    client::ApiError error;
    error.code = 503;
    return std::unexpected(error);
  };
  recorder_.start();
  recorder_.record(kObject, note("x"));
  for (std::size_t attempt = 1; attempt < 3; ++attempt) {
    EXPECT_EQ(written(attempt).size(), attempt);
    EXPECT_TRUE(dropped(0));
    clock_.advance(seconds{1});
  }
  EXPECT_EQ(written(3).size(), 3u);
  EXPECT_TRUE(dropped(1));
}

TEST_F(RecorderTest, DoesNotRepeatWhatTheServerRefuses) {
  server_ = [](std::stop_token) -> std::expected<void, client::ApiError> {
    client::ApiError error;
    error.code = 403;
    return std::unexpected(error);
  };
  recorder_.start();
  recorder_.record(kObject, note("x"));
  EXPECT_EQ(written(1).size(), 1u);
  EXPECT_TRUE(dropped(1));
}

TEST_F(RecorderTest, DropsAndCountsWhatExceedsItsBound) {
  for (int i = 0; i < 1030; ++i) recorder_.record(kObject, note(std::to_string(i)));
  EXPECT_TRUE(dropped(6));
  recorder_.start();
  EXPECT_EQ(written(1024).size(), 1024u);
  clock_.advance(minutes{10});
  recorder_.record(kObject, note("there is room again"));
  EXPECT_EQ(written(1025).size(), 1025u);
}

TEST_F(RecorderTest, FlushesOnStopAndTakesNoMore) {
  for (int i = 0; i < 10; ++i) recorder_.record(kObject, note(std::to_string(i)));
  recorder_.start();
  EXPECT_TRUE(recorder_.stop(clock_.now() + seconds{5}));
  EXPECT_EQ(written_.size(), 10u);
  recorder_.record(kObject, note("late"));
  EXPECT_TRUE(dropped(1));
}

TEST_F(RecorderTest, GivesUpOnAHangingServerAtTheDeadline) {
  server_ = [this](std::stop_token stop) {
    (void)sleep(clock_, std::chrono::hours{1}, stop);
    return std::expected<void, client::ApiError>{};
  };
  recorder_.start();
  recorder_.record(kObject, note("x"));
  EXPECT_EQ(written(1).size(), 1u);  // and the write sleeps
  bool in_time = true;
  std::jthread stopper([&] { in_time = recorder_.stop(clock_.now() + seconds{5}); });
  ASSERT_TRUE(clock_.wait_for_sleepers(2));
  clock_.advance(seconds{5});
  stopper.join();
  EXPECT_FALSE(in_time);
}

}  // namespace
}  // namespace inference::runtime
