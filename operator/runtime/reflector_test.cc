#include "operator/runtime/reflector.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/fake_clock.h"
#include "operator/runtime/object_meta.h"
#include "operator/runtime/testing/scripted_list_watch.h"

namespace inference::runtime {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::make_object;
using testing::ScriptedListWatch;
using testing::status_error;
using Lines = std::vector<std::string>;
using EndKind = client::WatchEnd::Kind;

client::ListPage page(std::vector<Json> items, const std::string& version, const std::string& token = "") {
  return {.items = std::move(items), .continue_token = token, .resource_version = version};
}

client::WatchEnd end(EndKind kind) {
  return {.kind = kind, .detail = {}};
}

class ReflectorTest : public ::testing::Test {
 protected:
  FakeClock clock_;
  SeededRandom random_{1};
  Metrics metrics_;
  StoreWriter store_;
  ScriptedListWatch server_;
  Guarded<Lines> heard_;
  Reflector reflector_{{.kind = "Thing"}, server_, store_, listener(), metrics_.informer("Thing"), clock_, random_};
  std::jthread thread_;

  void start() {
    thread_ = std::jthread([this](std::stop_token stop) { reflector_.run(stop); });
  }

  ReflectorListener listener() {
    return {.on_change =
                [this](const Change& change) {
                  const char* what = change.before == nullptr  ? "added "
                                     : change.after == nullptr ? "deleted "
                                                               : "updated ";
                  hear(what + change.ref.name);
                },
            .on_synced = [this] { hear("synced"); },
            .on_served = [this](bool served) { hear(served ? "served" : "not served"); }};
  }
  void hear(const std::string& line) {
    heard_.with([&](Lines& lines) { lines.push_back(line); });
  }
  Lines heard() {
    return heard_.with([](Lines& lines) { return std::exchange(lines, {}); });
  }
  // Lets the reflector out of the pause that it is in.
  void sit_out(Duration duration) {
    ASSERT_TRUE(clock_.wait_for_sleepers(1));
    clock_.advance(duration);
  }
};

TEST_F(ReflectorTest, ListsAllPagesThenWatchesFromTheirVersion) {
  server_.answer_list(page({make_object("a", "1"), make_object("b", "2")}, "9", "p2"));
  server_.answer_list(page({make_object("c", "3")}, "10"));
  start();
  ASSERT_TRUE(server_.wait_for_calls(3));
  EXPECT_EQ(server_.calls(), (Lines{"list ", "list p2", "watch 10"}));
  EXPECT_EQ(store_.lister().size(), 3u);
  EXPECT_TRUE(reflector_.has_synced());
  EXPECT_EQ(heard(), (Lines{"served", "added a", "added b", "added c", "synced"}));
}

TEST_F(ReflectorTest, TakesAStreamedListAndGoesOnInTheSameStream) {
  server_.set_streams();
  server_.answer_watch(
      {.events = {client::Added{make_object("a", "1")}, client::Added{make_object("b", "2")}}, .end = std::nullopt});
  server_.answer_watch({.events = {client::Bookmark{.resource_version = "9", .initial_events_end = true},
                                   client::Deleted{make_object("a", "10")}},
                        .end = end(EndKind::kComplete)});
  start();
  ASSERT_TRUE(server_.wait_for_calls(2));
  EXPECT_EQ(server_.calls(), (Lines{"stream", "watch 10"}));
  EXPECT_EQ(heard(), (Lines{"served", "added a", "added b", "synced", "deleted a"}));
  EXPECT_TRUE(reflector_.has_synced());
  EXPECT_EQ(store_.lister().version(), 10u);
}

TEST_F(ReflectorTest, BeginsAStreamedListAnewWhenItBreaksInTheMiddle) {
  server_.set_streams();
  server_.answer_watch({.events = {client::Added{make_object("a", "1")}}, .end = end(EndKind::kCut)});
  server_.answer_watch({.events = {client::Added{make_object("b", "2")},
                                   client::Bookmark{.resource_version = "9", .initial_events_end = true}},
                        .end = std::nullopt});
  start();
  sit_out(seconds(2));
  ASSERT_TRUE(server_.wait_for_calls(2));
  server_.answer_watch({.events = {}, .end = end(EndKind::kCut)});
  ASSERT_TRUE(clock_.wait_for_sleepers(1));
  EXPECT_EQ(server_.calls(), (Lines{"stream", "stream"}));
  EXPECT_EQ(heard(), (Lines{"served", "added b", "synced"}));
}

TEST_F(ReflectorTest, AppliesEventsAndResumesWhereTheStreamEnded) {
  server_.answer_list(page({make_object("a", "1")}, "10"));
  start();
  ASSERT_TRUE(server_.wait_for_calls(2));
  (void)heard();
  server_.answer_watch(
      {.events = {client::Added{make_object("b", "11")}, client::Modified{make_object("a", "12")},
                  client::Deleted{make_object("b", "13")}, client::Deleted{make_object("unknown", "14")},
                  client::Bookmark{.resource_version = "20"}},
       .end = std::nullopt});
  clock_.advance(seconds(400));  // longer than a brief watch
  server_.answer_watch({.events = {}, .end = end(EndKind::kComplete)});
  ASSERT_TRUE(server_.wait_for_calls(3));
  EXPECT_EQ(server_.calls().back(), "watch 20");
  EXPECT_EQ(heard(), (Lines{"added b", "updated a", "deleted b"}));
  server_.answer_watch({.events = {client::Bookmark{.resource_version = "21"}}, .end = end(EndKind::kIdleTimeout)});
  ASSERT_TRUE(server_.wait_for_calls(4));
  EXPECT_EQ(server_.calls().back(), "watch 21");
  EXPECT_NE(metrics_.to_text().find("watch_restarts_total{kind=\"Thing\"} 2\n"), std::string::npos);
  EXPECT_NE(metrics_.to_text().find("informer_objects{kind=\"Thing\"} 1\n"), std::string::npos);
}

TEST_F(ReflectorTest, ServesTheOldSnapshotUntilANewOneIsWhole) {
  server_.answer_list(page({make_object("a", "1"), make_object("b", "2")}, "10"));
  server_.answer_watch({.events = {client::WatchError{status_error(410)}}, .end = end(EndKind::kError)});
  server_.answer_list(std::unexpected(status_error(500)));
  start();
  sit_out(seconds(2));
  sit_out(seconds(4));
  ASSERT_TRUE(server_.wait_for_calls(4));
  EXPECT_EQ(server_.calls(), (Lines{"list ", "watch 10", "list ", "list "}));
  EXPECT_EQ(store_.lister().size(), 2u);
  EXPECT_TRUE(reflector_.has_synced());
  EXPECT_EQ(reflector_.last_error(), status_error(500).to_string());
  (void)heard();
  server_.answer_list(page({make_object("a", "1"), make_object("c", "12")}, "15"));
  ASSERT_TRUE(server_.wait_for_calls(5));
  EXPECT_EQ(heard(), (Lines{"added c", "deleted b"})) << "the deletion was missed while away";
  EXPECT_EQ(reflector_.last_error(), "");
}

TEST_F(ReflectorTest, CountsAMissingKindAsSyncedAndStartsWhenItIsInstalled) {
  server_.answer_list(std::unexpected(status_error(404)));
  server_.answer_list(std::unexpected(status_error(404)));
  start();
  sit_out(seconds(30));
  ASSERT_TRUE(server_.wait_for_calls(2));
  ASSERT_TRUE(clock_.wait_for_sleepers(1));
  EXPECT_TRUE(reflector_.has_synced());
  EXPECT_FALSE(reflector_.served());
  EXPECT_EQ(heard(), (Lines{"not served", "synced"}));
  server_.answer_list(page({make_object("a", "1")}, "10"));
  sit_out(seconds(30));
  ASSERT_TRUE(server_.wait_for_calls(4));
  EXPECT_EQ(server_.calls().back(), "watch 10");
  EXPECT_TRUE(reflector_.served());
  EXPECT_EQ(heard(), (Lines{"served", "added a"}));
}

TEST_F(ReflectorTest, EmptiesTheStoreWhenTheKindIsRemoved) {
  server_.answer_list(page({make_object("a", "1")}, "10"));
  server_.answer_watch({.events = {}, .end = std::unexpected(status_error(404))});
  server_.answer_list(std::unexpected(status_error(404)));
  start();
  sit_out(seconds(2));
  ASSERT_TRUE(server_.wait_for_calls(3));
  ASSERT_TRUE(clock_.wait_for_sleepers(1));
  EXPECT_EQ(heard(), (Lines{"served", "added a", "synced", "not served", "deleted a"}));
  EXPECT_EQ(store_.lister().size(), 0u);
}

TEST_F(ReflectorTest, BacksOffAfterACutStreamAndResumes) {
  server_.answer_list(page({}, "10"));
  server_.answer_watch({.events = {client::Added{make_object("a", "11")}}, .end = end(EndKind::kCut)});
  server_.answer_watch({.events = {}, .end = end(EndKind::kCut)});
  start();
  ASSERT_TRUE(clock_.wait_for_sleepers(1));
  clock_.advance(milliseconds(799));
  ASSERT_TRUE(clock_.wait_for_sleepers(1));
  EXPECT_EQ(server_.calls().size(), 2u) << "no pause is shorter than 800 ms";
  clock_.advance(milliseconds(801));
  ASSERT_TRUE(server_.wait_for_calls(3));
  sit_out(milliseconds(3200));
  ASSERT_TRUE(server_.wait_for_calls(4));
  EXPECT_EQ(server_.calls(), (Lines{"list ", "watch 10", "watch 11", "watch 11"}));
}

TEST_F(ReflectorTest, DoesNotSpinOnAServerThatEndsEachWatchAtOnce) {
  server_.answer_list(page({}, "10"));
  server_.answer_watch({.events = {}, .end = end(EndKind::kComplete)});
  start();
  sit_out(seconds(2));
  ASSERT_TRUE(server_.wait_for_calls(3));
  EXPECT_EQ(server_.calls().back(), "watch 10");
}

TEST_F(ReflectorTest, WaitsAsLongAsTheServerAsks) {
  client::ApiError busy = status_error(429);
  busy.retry_after = seconds(40);
  server_.answer_list(std::unexpected(busy));
  start();
  sit_out(seconds(39));
  ASSERT_TRUE(clock_.wait_for_sleepers(1));
  EXPECT_EQ(server_.calls().size(), 1u);
  clock_.advance(seconds(1));
  ASSERT_TRUE(server_.wait_for_calls(2));
}

TEST_F(ReflectorTest, EndsOnStopFromWhereverItWaits) {
  start();  // in the list
  ASSERT_TRUE(server_.wait_for_calls(1));
  thread_ = {};
  EXPECT_FALSE(reflector_.has_synced());

  start();  // in a pause
  server_.answer_list(std::unexpected(status_error(500)));
  ASSERT_TRUE(clock_.wait_for_sleepers(1));
  thread_ = {};

  start();  // in the watch
  server_.answer_list(page({}, "10"));
  ASSERT_TRUE(server_.wait_for_calls(4));
  thread_ = {};
  EXPECT_EQ(server_.calls().back(), "watch 10");
}

TEST(Backoff, GrowsWithJitterToItsCeilingAndResetsWhenHealthy) {
  FakeClock clock;
  SeededRandom random(7);
  Backoff backoff(clock, random);
  Duration expected = milliseconds(800);
  for (int i = 0; i < 10; ++i) {
    const Duration pause = backoff.next();
    EXPECT_GE(pause, expected) << i;
    EXPECT_LE(pause, 2 * expected) << i;
    expected = std::min<Duration>(seconds(30), 2 * expected);
    clock.advance(seconds(60));
  }
  clock.advance(seconds(121));
  EXPECT_LE(backoff.next(), milliseconds(1600));
}

}  // namespace
}  // namespace inference::runtime
