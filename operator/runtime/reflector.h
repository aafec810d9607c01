#pragma once

#include <atomic>
#include <functional>
#include <stop_token>
#include <string>

#include "base/clock.h"
#include "base/guarded.h"
#include "base/random.h"
#include "operator/runtime/backoff.h"
#include "operator/runtime/failure_log.h"
#include "operator/runtime/list_watch.h"
#include "operator/runtime/metrics.h"
#include "operator/runtime/reflector_state.h"
#include "operator/runtime/store.h"

namespace inference::runtime {

/// What a reflector tells; called on its thread, after the store has changed, without any lock held. Must be quick and
/// must not block.
struct ReflectorListener {
  std::function<void(const Change&)> on_change;
  /// The store holds its first whole snapshot, and `on_change` has been called for all of it. Once.
  std::function<void()> on_synced;
  /// The API server began (true) or ceased (false) to serve the kind; the first answer counts as well.
  std::function<void(bool served)> on_served;
};

/// Keeps one store equal to the API server's objects of one kind: lists, then watches, and recovers from whatever
/// breaks that.
class Reflector {
 public:
  struct Settings {
    std::string kind;                // for logs
    FailureLog* failures = nullptr;  // shared by all kinds, outlives the reflector; null: failures are not logged
  };
  /// Everything passed by reference outlives the reflector.
  Reflector(Settings settings, ListWatch& source, StoreWriter& store, ReflectorListener listener,
            InformerMetrics metrics, Clock& clock, Random& random);

  /// Runs until `stop`, on a thread of its own, never on two at once. Only the pure waits and the two requests block,
  /// and all heed `stop`.
  void run(std::stop_token stop);

  /// Whether the store holds a whole snapshot (an empty one when the kind is missing). Never goes back to false.
  /// Thread-safe.
  [[nodiscard]] bool has_synced() const { return synced_; }
  /// Whether the API server serves the kind, as far as known; true until it has said otherwise. Thread-safe.
  [[nodiscard]] bool served() const { return served_; }
  /// The last failure in words, empty once a list has succeeded since. Thread-safe.
  [[nodiscard]] std::string last_error() const;

 private:
  [[nodiscard]] reflector::Step list(reflector::State state, std::stop_token stop);
  [[nodiscard]] reflector::Step watch(reflector::State state, std::stop_token stop);
  [[nodiscard]] std::expected<client::WatchEnd, client::ApiError> open(
      const reflector::State& state, const std::function<void(client::WatchEvent)>& on_event, std::stop_token stop);
  reflector::State carry_out(reflector::Step& step);
  void apply(std::vector<reflector::StoreEvent> events);
  void finish_snapshot();
  void publish(const Change& change);
  void note_state(const reflector::State& state);
  void note_error(const client::ApiError& error, const reflector::State& state);
  void pause(reflector::Pause kind, std::optional<std::chrono::seconds> at_least, std::stop_token stop);

  const Settings settings_;
  ListWatch& source_;
  StoreWriter& store_;
  const ReflectorListener listener_;
  const InformerMetrics metrics_;
  Clock& clock_;
  Random& random_;
  Backoff backoff_;
  std::atomic<bool> synced_ = false;
  std::atomic<bool> served_ = true;
  bool served_known_ = false;   // used by run()'s thread only, like the next
  bool list_in_pages_ = false;  // the server has shown that it has no streamed lists
  Guarded<std::string> last_error_;
};

}  // namespace inference::runtime
