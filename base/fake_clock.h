#pragma once

#include <cstddef>
#include <list>

#include "base/clock.h"

namespace inference {

/// A clock that only moves when a test says so; everyone asleep on it wakes when it does. Starts at an arbitrary fixed
/// instant.
class FakeClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override;
  [[nodiscard]] WallTime wall_now() const override;
  void wait_until(std::condition_variable_any& condition, std::unique_lock<std::mutex>& lock, TimePoint deadline,
                  std::stop_token stop) override;

  /// Moves time on and wakes every sleeper. The caller must hold no mutex that a sleeper sleeps with: each is taken for
  /// its wake-up.
  void advance(Duration duration);

  /// Blocks (in real time, at most 10 s) until at least `count` threads are asleep on this clock; false when that never
  /// happened. A thread that advance() has woken does not count until it sleeps again, so a test may alternate the two.
  [[nodiscard]] bool wait_for_sleepers(std::size_t count);

 private:
  struct Sleeper {
    std::condition_variable_any* condition;
    std::mutex* mutex;
    bool woken = false;    // by advance(), on its way out
    std::size_t pins = 0;  // calls of advance() that still use the two pointers
  };
  // Taken after a sleeper's own mutex, never before it.
  mutable std::mutex mutex_;
  std::condition_variable changed_;  // a sleeper came, or a pin went
  std::list<Sleeper> sleepers_;      // guarded by mutex_; each entry lives as long as its wait_until call
  TimePoint now_{std::chrono::hours{1}};
};

}  // namespace inference
