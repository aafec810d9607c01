#include "operator/runtime/rate_limiter.h"

#include <algorithm>
#include <cmath>

namespace inference::runtime {

RateLimiter::RateLimiter(const Clock& clock, RateLimits limits)
    : clock_(clock), limits_(limits), tokens_(limits.burst), refilled_(clock.now()) {}

Duration RateLimiter::next_delay(const client::ObjectRef& key) {
  const std::size_t before = failures_[key]++;
  const auto ceiling = static_cast<double>(limits_.ceiling.count());
  // In floating point, so that the thousandth failure does not overflow before it is capped.
  const double grown = static_cast<double>(limits_.base.count()) * std::exp2(static_cast<double>(before));
  return std::max(Duration{static_cast<Duration::rep>(std::min(grown, ceiling))}, take_token());
}

void RateLimiter::forget(const client::ObjectRef& key) {
  failures_.erase(key);
}

std::size_t RateLimiter::failures(const client::ObjectRef& key) const {
  const auto found = failures_.find(key);
  return found == failures_.end() ? 0 : found->second;
}

Duration RateLimiter::take_token() {
  const TimePoint now = clock_.now();
  const double seconds = std::chrono::duration<double>(now - refilled_).count();
  tokens_ = std::min(limits_.burst, tokens_ + seconds * limits_.tokens_per_second);
  refilled_ = now;
  tokens_ -= 1;
  if (tokens_ >= 0) return Duration::zero();
  return std::chrono::ceil<Duration>(std::chrono::duration<double>(-tokens_ / limits_.tokens_per_second));
}

}  // namespace inference::runtime
