#include "operator/runtime/rate_limiter.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "base/fake_clock.h"

namespace inference::runtime {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

const client::ObjectRef kKey{"default", "a"};

TEST(RateLimiter, DoublesTheDelayOfAKeyUpToTheCeiling) {
  FakeClock clock;
  RateLimiter limiter(clock, {});
  EXPECT_EQ(limiter.next_delay(kKey), milliseconds(5));
  EXPECT_EQ(limiter.next_delay(kKey), milliseconds(10));
  EXPECT_EQ(limiter.next_delay(kKey), milliseconds(20));
  for (int i = 0; i < 50; ++i) (void)limiter.next_delay(kKey);
  EXPECT_EQ(limiter.failures(kKey), 53u);
  clock.advance(minutes(1));  // so that the bucket has tokens
  EXPECT_EQ(limiter.next_delay(kKey), minutes(5));
}

TEST(RateLimiter, StaysAtTheCeilingAfterThousandsOfFailures) {
  FakeClock clock;
  RateLimiter limiter(clock, {.burst = 1e9});
  for (int i = 0; i < 5000; ++i) (void)limiter.next_delay(kKey);
  EXPECT_EQ(limiter.next_delay(kKey), minutes(5));
}

TEST(RateLimiter, StartsAfreshOnceAKeyIsForgotten) {
  FakeClock clock;
  RateLimiter limiter(clock, {});
  (void)limiter.next_delay(kKey);
  (void)limiter.next_delay(kKey);
  limiter.forget(kKey);
  EXPECT_EQ(limiter.failures(kKey), 0u);
  EXPECT_EQ(limiter.next_delay(kKey), milliseconds(5));
}

TEST(RateLimiter, SpreadsAFleetThatFailsAtOnce) {
  FakeClock clock;
  RateLimiter limiter(clock, {});
  const auto fail = [&limiter](int i) { return limiter.next_delay({"default", std::to_string(i)}); };
  for (int i = 0; i < 100; ++i) EXPECT_EQ(fail(i), milliseconds(5)) << i;
  // The bucket is empty: ten a second from here on.
  EXPECT_EQ(fail(100), milliseconds(100));
  EXPECT_EQ(fail(101), milliseconds(200));
  clock.advance(seconds(2));
  EXPECT_EQ(fail(102), milliseconds(5));
}

// Whoever fails, is forgotten and waits in whatever order: a key's delay is never below what its own failures have
// earned, which only grows until it is forgotten, nor above both that and its place in the bucket's queue.
TEST(RateLimiterProperty, NeverDelaysAKeyLessThanItsFailuresHaveEarned) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    FakeClock clock;
    const RateLimits limits;
    RateLimiter limiter(clock, limits);
    std::map<std::string, Duration> earned;  // by the key's next failure
    double owed = -limits.burst;             // tokens promised beyond those in the bucket
    for (int i = 0; i < 1000; ++i) {
      const std::string name = std::to_string(random() % 6);
      const client::ObjectRef key{"default", name};
      if (random() % 10 == 0) {
        limiter.forget(key);
        earned.erase(name);
      } else if (random() % 10 == 0) {
        const auto pause = milliseconds(random() % 3000);
        clock.advance(pause);
        owed = std::max(-limits.burst, owed - std::chrono::duration<double>(pause).count() * limits.tokens_per_second);
      } else {
        Duration& own = earned.try_emplace(name, limits.base).first->second;
        owed += 1;
        const Duration turn = milliseconds(1) + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(
                                                    std::max(0.0, owed) / limits.tokens_per_second));
        const Duration delay = limiter.next_delay(key);
        EXPECT_GE(delay, own);
        EXPECT_LE(delay, std::max(own, turn));
        own = std::min(2 * own, limits.ceiling);
      }
    }
  }
}

}  // namespace
}  // namespace inference::runtime
