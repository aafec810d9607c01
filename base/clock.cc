#include "base/clock.h"

#include <spdlog/fmt/chrono.h>

#include <utility>

namespace inference {

TimePoint SystemClock::now() const {
  return std::chrono::steady_clock::now();
}

WallTime SystemClock::wall_now() const {
  return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
}

void SystemClock::wait_until(std::condition_variable_any& condition, std::unique_lock<std::mutex>& lock,
                             TimePoint deadline, std::stop_token stop) {
  // A stop callback notifies without the lock held; wait_until with a stop token closes that gap itself.
  bool woken = false;
  condition.wait_until(lock, stop, std::chrono::time_point_cast<std::chrono::steady_clock::duration>(deadline),
                       [&woken] {
                         // False on entry (so that it blocks), true on the first wake: one wait, the caller looks at
                         // its own predicate.
                         return std::exchange(woken, true);
                       });
}

bool sleep(Clock& clock, Duration duration, std::stop_token stop) {
  std::mutex mutex;
  std::condition_variable_any condition;
  std::unique_lock lock(mutex);
  const TimePoint deadline = clock.now() + duration;
  while (!stop.stop_requested() && clock.now() < deadline) clock.wait_until(condition, lock, deadline, stop);
  return !stop.stop_requested();
}

std::string to_rfc3339(WallTime time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}Z", fmt::gmtime(seconds.time_since_epoch().count()));
}

std::string to_rfc3339_micro(WallTime time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(time - seconds).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06d}Z", fmt::gmtime(seconds.time_since_epoch().count()), micros);
}

}  // namespace inference
