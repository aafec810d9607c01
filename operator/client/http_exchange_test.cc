#include "operator/client/http_exchange.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/fake_clock.h"

namespace inference::client {
namespace {

using namespace std::chrono_literals;

class Sink : public ResponseSink {
 public:
  void on_headers(int status, const Headers&) override {
    log += "headers " + std::to_string(status) + ";";
    begun = true;
    begun.notify_all();
  }
  Next on_bytes(std::string_view bytes) override {
    log += "bytes " + std::to_string(bytes.size()) + ";";
    if (during_bytes) during_bytes();
    return Next::kMore;
  }
  void on_end(const HttpEnd&) override { log += "end;"; }

  std::string log;  // only to be read when deliver() has returned, or on its thread
  std::atomic<bool> begun{false};
  std::function<void()> during_bytes;
};

const HttpExchange::Limits kLimits{10s, std::nullopt, 100};

TEST(HttpExchange, PassesBytesOnAfterTheHeadersEvenWhenTheyCameBefore) {
  FakeClock clock;
  HttpExchange exchange;
  EXPECT_TRUE(exchange.bytes("abc", {}));
  exchange.headers(200, {});
  exchange.end({});
  Sink sink;
  EXPECT_EQ(exchange.deliver(sink, kLimits, clock, {}).kind, HttpEnd::Kind::kComplete);
  EXPECT_EQ(sink.log, "headers 200;bytes 3;") << "the end is the caller's to pass on";
}

TEST(HttpExchange, PassesOnWhatCameBeforeACut) {
  FakeClock clock;
  HttpExchange exchange;
  exchange.headers(200, {});
  EXPECT_TRUE(exchange.bytes("abc", {}));
  exchange.end({HttpEnd::Kind::kCut, "gone"});
  Sink sink;
  EXPECT_EQ(exchange.deliver(sink, kLimits, clock, {}).detail, "gone");
  EXPECT_EQ(sink.log, "headers 200;bytes 3;");
}

TEST(HttpExchange, GivesUpWhenNothingMovesForTheIdleTime) {
  FakeClock clock;
  HttpExchange exchange;
  Sink sink;
  HttpEnd end;
  std::jthread sender([&] { end = exchange.deliver(sink, kLimits, clock, {}); });
  ASSERT_TRUE(clock.wait_for_sleepers(1));
  clock.advance(9s);
  ASSERT_TRUE(clock.wait_for_sleepers(1));
  exchange.headers(200, {});  // progress: the ten seconds begin anew
  exchange.announce();
  sink.begun.wait(false);
  ASSERT_TRUE(clock.wait_for_sleepers(1));
  clock.advance(9s);
  ASSERT_TRUE(clock.wait_for_sleepers(1));
  clock.advance(2s);
  sender.join();
  EXPECT_EQ(end.kind, HttpEnd::Kind::kIdleTimeout);
}

TEST(HttpExchange, DoesNotTakeTheReceiversTimeForSilence) {
  FakeClock clock;
  HttpExchange exchange;
  exchange.headers(200, {});
  EXPECT_TRUE(exchange.bytes("abc", {}));
  Sink sink;
  sink.during_bytes = [&] {
    clock.advance(1h);
    exchange.end({});
  };
  EXPECT_EQ(exchange.deliver(sink, kLimits, clock, {}).kind, HttpEnd::Kind::kComplete);
}

TEST(HttpExchange, EndsAtTheTotalTimeHoweverMuchComes) {
  FakeClock clock;
  HttpExchange exchange;
  exchange.headers(200, {});
  EXPECT_TRUE(exchange.bytes("abc", {}));
  Sink sink;
  sink.during_bytes = [&] {
    clock.advance(2s);
    (void)exchange.bytes("abc", {});
  };
  const HttpExchange::Limits limits{10s, clock.now() + 5s, 1000};
  // The sink keeps adding bytes; were they always taken first, this would never end.
  EXPECT_EQ(exchange.deliver(sink, limits, clock, {}).kind, HttpEnd::Kind::kTotalTimeout);
}

TEST(HttpExchange, StopsAtOnceAndDropsWhatComesLater) {
  FakeClock clock;
  HttpExchange exchange;
  std::stop_source stop;
  Sink sink;
  HttpEnd end;
  std::jthread sender([&] { end = exchange.deliver(sink, kLimits, clock, stop.get_token()); });
  ASSERT_TRUE(clock.wait_for_sleepers(1));
  stop.request_stop();
  sender.join();
  EXPECT_EQ(end.kind, HttpEnd::Kind::kCancelled);
  exchange.headers(200, {});
  EXPECT_TRUE(exchange.bytes(std::string(2 * HttpExchange::kPauseAbove, 'x'),
                             [] { FAIL() << "nobody pauses for a gone receiver"; }));
  exchange.end({});
  EXPECT_EQ(sink.log, "");
}

TEST(HttpExchange, PausesTheLibraryAndResumesIt) {
  FakeClock clock;
  HttpExchange exchange;
  exchange.headers(200, {});
  int resumed = 0;
  EXPECT_FALSE(exchange.bytes(std::string(HttpExchange::kPauseAbove + 1, 'x'), [&] { ++resumed; }));
  EXPECT_EQ(resumed, 0);
  Sink sink;
  sink.during_bytes = [&] { exchange.end({}); };
  EXPECT_EQ(exchange.deliver(sink, {10s, std::nullopt, 10 * HttpExchange::kPauseAbove}, clock, {}).kind,
            HttpEnd::Kind::kComplete);
  EXPECT_EQ(resumed, 1);
}

TEST(HttpExchange, ResumesAPausedLibraryWhenNobodyListensAnyMore) {
  HttpExchange exchange;
  int resumed = 0;
  EXPECT_FALSE(exchange.bytes(std::string(HttpExchange::kPauseAbove + 1, 'x'), [&] { ++resumed; }));
  exchange.abandon();
  exchange.abandon();
  EXPECT_EQ(resumed, 1);
}

TEST(HttpExchange, KeepsToTheLimitAnnouncedOrNot) {
  FakeClock clock;
  HttpExchange announced;
  announced.headers(200, {{"content-length", "101"}});
  Sink none;
  EXPECT_EQ(announced.deliver(none, kLimits, clock, {}).kind, HttpEnd::Kind::kTooLarge);
  HttpExchange grown;
  grown.headers(200, {});
  EXPECT_TRUE(grown.bytes(std::string(101, 'x'), {}));
  Sink sink;
  EXPECT_EQ(grown.deliver(sink, kLimits, clock, {}).kind, HttpEnd::Kind::kTooLarge);
  EXPECT_EQ(sink.log, "headers 200;");
}

}  // namespace
}  // namespace inference::client
