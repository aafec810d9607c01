#include "operator/runtime/rate_limiter.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace inference::runtime
