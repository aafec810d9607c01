#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <queue>
#include <set>
#include <stop_token>
#include <vector>

#include "base/clock.h"
#include "operator/client/resource.h"
#include "operator/runtime/metrics.h"
#include "operator/runtime/rate_limiter.h"

namespace inference::runtime {

/// The keys that wait for a worker: a key is there once however often it was added, and no two workers hold it at the
/// same time.
///
/// The design is client-go's (util/workqueue/queue.go, delaying_queue.go), but delays need no thread of their own:
/// `get` sleeps until the earliest of them. All members are thread-safe; nothing blocks but `get`.
class WorkQueue {
 public:
  WorkQueue(Clock& clock, QueueMetrics metrics, RateLimits limits = {});

  /// Wants `key` worked on. Already waiting: nothing. Being worked on: once more afterwards. After `shut_down`:
  /// nothing.
  void add(const client::ObjectRef& key);
  /// The same, `delay` from now. Of two delays of one key the earlier wins; an `add` does not cancel a delay.
  void add_after(const client::ObjectRef& key, Duration delay);
  /// The same, after the delay that this key's failures have earned.
  void add_rate_limited(const client::ObjectRef& key);

  /// The next key, waiting for one as long as it takes. Nothing when `stop` is requested, or the queue is shut down and
  /// drained. Whoever got a key must call `done` with it.
  [[nodiscard]] std::optional<client::ObjectRef> get(std::stop_token stop);
  /// The work on `key` has ended; if it was added meanwhile it waits again.
  void done(const client::ObjectRef& key);
  /// `key` succeeded: its back-off starts afresh.
  void forget(const client::ObjectRef& key);

  /// Takes no more keys and drops what is only delayed; `get` still hands out what waits, then ends.
  void shut_down();

  /// How many keys wait (delayed ones and those being worked on not counted).
  [[nodiscard]] std::size_t length() const;
  /// How often `key` has failed since it was last forgotten.
  [[nodiscard]] std::size_t failures(const client::ObjectRef& key) const;

 private:
  struct Delayed {
    TimePoint ready;
    client::ObjectRef key;
    friend bool operator>(const Delayed& a, const Delayed& b) { return a.ready > b.ready; }
  };

  void add_locked(const client::ObjectRef& key);
  void delay_locked(const client::ObjectRef& key, Duration delay);
  void move_ready_locked();

  Clock& clock_;
  QueueMetrics metrics_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  // All guarded by mutex_.
  std::deque<client::ObjectRef> waiting_;  // the order of work: every key here is in dirty_ and not in processing_
  std::map<client::ObjectRef, TimePoint> dirty_;  // keys that need work, and since when
  std::map<client::ObjectRef, TimePoint>
      processing_;  // keys that a worker holds, and since when; may be dirty_ as well
  std::priority_queue<Delayed, std::vector<Delayed>, std::greater<>> delayed_;  // may hold outdated entries of a key
  std::map<client::ObjectRef, TimePoint> ready_at_;  // the one entry of delayed_ that counts, by key
  RateLimiter limiter_;
  bool shut_down_ = false;
};

}  // namespace inference::runtime
