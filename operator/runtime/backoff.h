#pragma once

#include "base/clock.h"
#include "base/random.h"

namespace inference::runtime {

/// The growing pauses between the failures of one activity. Not thread-safe.
class Backoff {
 public:
  // client-go's reflector (tools/cache/reflector.go): with 1,000 clients and an API server that is down, these four
  // figures cut requests by 98 % against a fixed second, and two healthy minutes tell a new outage from the old one.
  struct Settings {
    Duration first = std::chrono::milliseconds{800};
    Duration ceiling = std::chrono::seconds{30};
    double factor = 2;
    double jitter = 1;  // a pause is lengthened by up to this part of itself
    Duration reset_after = std::chrono::minutes{2};
  };

  Backoff(const Clock& clock, Random& random, Settings settings);
  Backoff(const Clock& clock, Random& random) : Backoff(clock, random, Settings{}) {}

  /// The pause to make now: longer each time, `first` again when the last was asked for more than `reset_after` ago.
  [[nodiscard]] Duration next();

 private:
  const Clock& clock_;
  Random& random_;
  const Settings settings_;
  Duration pause_;
  TimePoint last_;
};

}  // namespace inference::runtime
