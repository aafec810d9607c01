#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "operator/client/http_transport.h"

namespace inference::client {

/// Hands one answer from the thread on which an HTTP library delivers it to the thread that sent the request. The
/// library's thread never waits here, and the sender gives up on time or on a stop without waiting for the library:
/// whatever comes later is dropped.
class HttpExchange {
 public:
  /// Bytes that may wait for the sender before the library is asked to pause.
  static constexpr std::size_t kPauseAbove = std::size_t{1024} * 1024;

  // The library's side. Thread-safe, never blocks. The sender is woken by announce() and end() only, so that a library
  // that has several pieces at once wakes it once.
  void headers(int status, Headers headers);
  /// Returns false when the library must pause; `resume` is then called once, on the sender's thread, when it may go on
  /// or nobody listens.
  [[nodiscard]] bool bytes(std::string_view bytes, std::function<void()> resume);
  void announce();
  void end(HttpEnd end);

  /// When the sender gives up.
  struct Limits {
    Duration idle_timeout;
    std::optional<TimePoint> give_up_at;
    std::size_t max_bytes;
  };
  /// The sender's side, once: passes everything but the end to `sink`, in order, and returns the end.
  [[nodiscard]] HttpEnd deliver(ResponseSink& sink, const Limits& limits, Clock& clock, const std::stop_token& stop);

  /// Stops listening: the library is resumed if it pauses, and nothing is kept any more. Idempotent.
  void abandon();

 private:
  struct Head {
    int status;
    Headers headers;
  };
  struct Step;
  Step next_step(std::unique_lock<std::mutex>& lock, const Limits& limits, TimePoint last_progress, Clock& clock,
                 const std::stop_token& stop);

  std::mutex mutex_;
  std::condition_variable_any changed_;
  // All guarded by mutex_.
  std::optional<Head> head_;      // not yet taken by the sender
  bool head_taken_ = false;       // bytes are only passed on after it
  std::string pending_;           // not yet taken by the sender
  std::function<void()> resume_;  // set while the library pauses
  std::optional<HttpEnd> end_;
  bool abandoned_ = false;
};

}  // namespace inference::client
