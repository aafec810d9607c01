#include "operator/runtime/backoff.h"

#include <algorithm>

namespace inference::runtime {

Backoff::Backoff(const Clock& clock, Random& random, Settings settings)
    : clock_(clock), random_(random), settings_(settings), pause_(settings.first), last_(clock.now()) {}

Duration Backoff::next() {
  const TimePoint now = clock_.now();
  if (now - last_ > settings_.reset_after) pause_ = settings_.first;
  last_ = now;
  const auto scaled = [](Duration duration, double by) {
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double, std::nano>(duration) * by);
  };
  const Duration pause = scaled(pause_, 1 + settings_.jitter * random_.uniform());
  pause_ = std::min(settings_.ceiling, scaled(pause_, settings_.factor));
  return pause;
}

}  // namespace inference::runtime
