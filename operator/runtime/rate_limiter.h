#pragma once

#include <map>

#include "base/clock.h"
#include "operator/client/resource.h"

namespace inference::runtime {

/// How fast failing keys come back.
struct RateLimits {
  // A key's n-th failure in a row waits base × 2^(n-1). 5 ms heals what a stale cache caused before anyone notices.
  Duration base = std::chrono::milliseconds{5};
  // client-go ends at 1000 s; five minutes costs one request and shows a repaired cluster three times as fast.
  Duration ceiling = std::chrono::minutes{5};
  // A token bucket over all keys, so that a fleet failing at once does not fall on the API server at once (client-go's
  // figures).
  double tokens_per_second = 10;
  double burst = 100;
};

/// Decides how long a failed key waits: the longer of its own exponential back-off and the bucket shared by all keys.
/// Not thread-safe: the work queue guards it.
class RateLimiter {
 public:
  RateLimiter(const Clock& clock, RateLimits limits);

  /// Counts one more failure of `key` and returns the delay before its next try.
  [[nodiscard]] Duration next_delay(const client::ObjectRef& key);
  /// The key has succeeded, or is no longer wanted: its next failure starts at `base` again.
  void forget(const client::ObjectRef& key);
  [[nodiscard]] std::size_t failures(const client::ObjectRef& key) const;

 private:
  [[nodiscard]] Duration take_token();

  const Clock& clock_;
  const RateLimits limits_;
  std::map<client::ObjectRef, std::size_t>
      failures_;   // an entry only for keys that failed since they were last forgotten
  double tokens_;  // at refilled_; negative: tokens promised to keys that are waiting for them
  TimePoint refilled_;
};

}  // namespace inference::runtime
