#include "base/clock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/fake_clock.h"

namespace inference {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

TEST(Clock, PrintsRfc3339AsKubernetesDoes) {
  const WallTime time{std::chrono::sys_days{std::chrono::year{2026} / 11 / 30} + hours{12} + seconds{5} +
                      std::chrono::milliseconds{7}};
  EXPECT_EQ(to_rfc3339(time), "2026-11-30T12:00:05Z");
  EXPECT_EQ(to_rfc3339_micro(time), "2026-11-30T12:00:05.007000Z");
}

TEST(Clock, PrintsInstantsBefore1970RoundedDown) {
  const WallTime time{std::chrono::milliseconds{-1}};
  EXPECT_EQ(to_rfc3339(time), "1969-12-31T23:59:59Z");
  EXPECT_EQ(to_rfc3339_micro(time), "1969-12-31T23:59:59.999000Z");
}

TEST(Clock, ReadsRfc3339AsItIsWritten) {
  const auto time = parse_rfc3339("2026-11-30T12:00:00Z");
  ASSERT_TRUE(time);
  EXPECT_EQ(to_rfc3339(*time), "2026-11-30T12:00:00Z");
  EXPECT_EQ(parse_rfc3339("2026-11-30T13:30:00.123456+01:30"), time);
  EXPECT_EQ(parse_rfc3339("2026-11-30t07:00:00-05:00"), time);
  for (const char* bad :
       {"", "2026-11-30", "2026-13-30T12:00:00Z", "2026-02-30T12:00:00Z", "2026-11-30T24:00:00Z", "2026-11-30T12:00:00",
        "2026-11-30T12:00:00ZZ", "2026-11-30T12:00:00.Z", "2026-11-30T12:00:00+25:00", "-026-11-30T12:00:00Z"}) {
    EXPECT_FALSE(parse_rfc3339(bad)) << bad;
  }
}

TEST(SystemClock, SleepEndsWhenTheTimeIsOver) {
  SystemClock clock;
  const TimePoint before = clock.now();
  EXPECT_TRUE(sleep(clock, std::chrono::milliseconds{5}, {}));
  EXPECT_GE(clock.now() - before, std::chrono::milliseconds{5});
}

TEST(SystemClock, SleepEndsWhenStopIsRequested) {
  SystemClock clock;
  std::stop_source stop;
  const std::jthread stopper([&stop] { stop.request_stop(); });
  EXPECT_FALSE(sleep(clock, hours{1}, stop.get_token()));
}

TEST(SystemClock, WaitEndsWhenNotified) {
  SystemClock clock;
  std::mutex mutex;
  std::condition_variable_any condition;
  bool ready = false;
  const std::jthread notifier([&] {
    const std::scoped_lock lock(mutex);
    ready = true;
    condition.notify_all();
  });
  std::unique_lock lock(mutex);
  const TimePoint deadline = clock.now() + hours{1};
  while (!ready) clock.wait_until(condition, lock, deadline, {});
  EXPECT_TRUE(lock.owns_lock());
}

TEST(FakeClock, MovesOnlyWhenAdvanced) {
  FakeClock clock;
  const TimePoint start = clock.now();
  const WallTime wall = clock.wall_now();
  EXPECT_EQ(clock.now(), start);
  clock.advance(seconds{90});
  EXPECT_EQ(clock.now() - start, seconds{90});
  EXPECT_EQ(clock.wall_now() - wall, seconds{90});
}

TEST(FakeClock, ADeadlineInThePastDoesNotBlock) {
  FakeClock clock;
  EXPECT_TRUE(sleep(clock, seconds{0}, {}));
  EXPECT_EQ(clock.wait_for_sleepers(0), true);
}

TEST(FakeClock, WakesASleeperWhoseTimeHasCome) {
  FakeClock clock;
  std::atomic<int> rounds = 0;
  std::jthread sleeper([&](const std::stop_token& stop) {
    while (sleep(clock, seconds{10}, stop)) ++rounds;
  });
  for (int expected = 0; expected < 50; ++expected) {
    ASSERT_TRUE(clock.wait_for_sleepers(1));
    ASSERT_EQ(rounds, expected);
    clock.advance(seconds{4});
    ASSERT_TRUE(clock.wait_for_sleepers(1));
    ASSERT_EQ(rounds, expected) << "woke up for good before its time";
    clock.advance(seconds{6});
  }
  ASSERT_TRUE(clock.wait_for_sleepers(1));
  EXPECT_EQ(rounds, 50);
  sleeper.request_stop();
}

TEST(FakeClock, StopEndsASleepWithoutAnyAdvance) {
  FakeClock clock;
  bool whole = true;
  std::jthread sleeper([&](const std::stop_token& stop) { whole = sleep(clock, hours{1}, stop); });
  ASSERT_TRUE(clock.wait_for_sleepers(1));
  sleeper.request_stop();
  sleeper.join();
  EXPECT_FALSE(whole);
}

// The race that matters: sleepers come and go, and their mutexes die, while other threads advance.
TEST(FakeClock, LosesNoWakeUpUnderManySleepersAndAdvancers) {
  FakeClock clock;
  std::atomic<int> asleep = 8;
  std::vector<std::jthread> sleepers;
  for (int i = 0; i < 8; ++i) {
    sleepers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        if (!sleep(clock, std::chrono::milliseconds{1 + round % 3}, {})) return;
      }
      --asleep;
    });
  }
  std::vector<std::jthread> advancers;
  for (int i = 0; i < 2; ++i) {
    advancers.emplace_back([&] {
      while (asleep > 0) clock.advance(std::chrono::milliseconds{1});
    });
  }
  advancers.clear();
  sleepers.clear();
  EXPECT_EQ(asleep, 0);
}

TEST(FakeClock, SleepersMayShareOneMutexAndOneCondition) {
  FakeClock clock;
  std::mutex mutex;
  std::condition_variable_any condition;
  int woken = 0;
  std::vector<std::jthread> sleepers;
  for (int i = 0; i < 4; ++i) {
    sleepers.emplace_back([&] {
      std::unique_lock lock(mutex);
      const TimePoint deadline = TimePoint{hours{1}} + seconds{1};
      while (clock.now() < deadline) clock.wait_until(condition, lock, deadline, {});
      ++woken;
    });
  }
  ASSERT_TRUE(clock.wait_for_sleepers(4));
  clock.advance(seconds{1});
  sleepers.clear();
  EXPECT_EQ(woken, 4);
}

}  // namespace
}  // namespace inference
