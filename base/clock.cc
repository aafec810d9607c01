#include "base/clock.h"

#include <spdlog/fmt/chrono.h>

#include <charconv>
#include <utility>

namespace inference {
namespace {

/// Takes `width` digits from the front of `text`; -1 when they are not there.
int take_number(std::string_view& text, std::size_t width) {
  int value = 0;
  if (text.size() < width) return -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + width, value);
  if (error != std::errc{} || end != text.data() + width || value < 0) return -1;
  text.remove_prefix(width);
  return value;
}

bool take(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<std::chrono::minutes> take_offset(std::string_view& text) {
  if (take(text, "Zz")) return std::chrono::minutes{0};
  const bool west = !text.empty() && text.front() == '-';
  if (!take(text, "+-")) return std::nullopt;
  const int hours = take_number(text, 2);
  const bool colon = take(text, ":");
  const int minutes = take_number(text, 2);
  if (!colon || hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return std::nullopt;
  const auto offset = std::chrono::hours{hours} + std::chrono::minutes{minutes};
  return west ? -offset : offset;
}

}  // namespace

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

std::optional<WallTime> parse_rfc3339(std::string_view text) {
  using namespace std::chrono;
  const int y = take_number(text, 4);
  bool shaped = take(text, "-");
  const int m = take_number(text, 2);
  shaped = take(text, "-") && shaped;
  const int d = take_number(text, 2);
  shaped = take(text, "Tt ") && shaped;
  const int hour = take_number(text, 2);
  shaped = take(text, ":") && shaped;
  const int minute = take_number(text, 2);
  shaped = take(text, ":") && shaped;
  const int second = take_number(text, 2);
  if (!shaped || y < 0 || m < 0 || d < 0 || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 ||
      second > 60) {
    return std::nullopt;
  }
  if (take(text, ".")) {
    // A fraction is not kept, but must be of digits.
    if (take_number(text, 1) < 0) return std::nullopt;
    while (take_number(text, 1) >= 0) {
    }
  }
  const auto offset = take_offset(text);
  const year_month_day date{year{y}, month{static_cast<unsigned>(m)}, day{static_cast<unsigned>(d)}};
  if (!offset || !text.empty() || !date.ok()) return std::nullopt;
  return WallTime{sys_days{date}} + hours{hour} + minutes{minute} + seconds{second} - *offset;
}

}  // namespace inference
