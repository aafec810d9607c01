#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace inference {

using Duration = std::chrono::nanoseconds;
/// Monotonic instants, for waits and back-off.
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;
/// Calendar instants, only for what users read (events, conditions).
using WallTime = std::chrono::sys_time<std::chrono::milliseconds>;

/// The only source of time: injected everywhere, so that tests advance it by hand. All members are thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual TimePoint now() const = 0;
  [[nodiscard]] virtual WallTime wall_now() const = 0;

  /// Blocks on `condition` until it is notified, `deadline` has passed or `stop` is requested; `lock` is held on
  /// return. May wake spuriously: callers re-check their predicate. The clock waits (not the caller) so that a fake
  /// clock can wake its sleepers.
  virtual void wait_until(std::condition_variable_any& condition, std::unique_lock<std::mutex>& lock,
                          TimePoint deadline, std::stop_token stop) = 0;
};

/// The machine's own clocks.
class SystemClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override;
  [[nodiscard]] WallTime wall_now() const override;
  void wait_until(std::condition_variable_any& condition, std::unique_lock<std::mutex>& lock, TimePoint deadline,
                  std::stop_token stop) override;
};

/// Sleeps until `duration` has passed or `stop` is requested. Returns whether the whole duration passed.
[[nodiscard]] bool sleep(Clock& clock, Duration duration, std::stop_token stop);

/// RFC 3339 in UTC with seconds, as metav1.Time prints: `2026-11-30T12:00:00Z`.
[[nodiscard]] std::string to_rfc3339(WallTime time);

/// RFC 3339 in UTC with microseconds, as metav1.MicroTime prints (events.k8s.io, Leases):
/// `2026-11-30T12:00:00.000000Z`.
[[nodiscard]] std::string to_rfc3339_micro(WallTime time);

/// Reads RFC 3339 with any offset and fraction, to the second, as metav1.Time is written; nothing when it is not that.
[[nodiscard]] std::optional<WallTime> parse_rfc3339(std::string_view text);

}  // namespace inference
