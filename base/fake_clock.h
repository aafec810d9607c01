#pragma once

#include <list>

#include "base/clock.h"

namespace inference {

/// A clock that only moves when a test says so; everyone asleep on it wakes when it does. Starts at an arbitrary fixed instant.
class FakeClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override;
  [[nodiscard]] WallTime wall_now() const override;
  void wait_until(std::condition_variable_any& condition, std::unique_lock<std::mutex>& lock, TimePoint deadline,
                  std::stop_token stop) override;

  /// Moves time on and wakes every sleeper.
  void advance(Duration duration);

  /// Blocks (in real time, at most 10 s) until at least `count` threads are asleep on this clock; false when that never happened.
  [[nodiscard]] bool wait_for_sleepers(std::size_t count);

 private:
  struct Sleeper {
    std::condition_variable_any* condition;
    std::mutex* mutex;
  };
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Sleeper> sleepers_;  // guarded by mutex_; each entry lives as long as its wait_until call
  TimePoint now_{std::chrono::hours{1}};
};

}  // namespace inference
