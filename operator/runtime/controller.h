#pragma once

#include <atomic>
#include <expected>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "operator/client/api_error.h"
#include "operator/client/resource.h"
#include "operator/runtime/metrics.h"
#include "operator/runtime/work_queue.h"

namespace inference::runtime {

/// What a successful reconcile waits for. There is no bare "again": who wants to come back names a time and a reason.
class Result {
 public:
  /// The next change of something watched.
  [[nodiscard]] static Result await_change() { return {}; }
  /// That too, but `delay` at the latest, because of `why` (constant text, for the log).
  [[nodiscard]] static Result requeue_after(Duration delay, std::string why) {
    Result result;
    result.delay_ = delay;
    result.why_ = std::move(why);
    return result;
  }
  [[nodiscard]] const std::optional<Duration>& delay() const { return delay_; }
  [[nodiscard]] const std::string& why() const { return why_; }

 private:
  Result() = default;
  std::optional<Duration> delay_;
  std::string why_;
};

/// Why a reconcile could not do its work. What the user did wrong is no error but status.
struct ReconcileError {
  /// A call of the API server failed while `doing` ("write status"): again, when the server says so or after the
  /// back-off.
  [[nodiscard]] static ReconcileError retry(const std::string& doing, const client::ApiError& error);

  enum class Kind {
    kRetry,     // the world may heal: again, after the key's growing back-off
    kTerminal,  // again only when something changes: trying once more would give the same
  };
  Kind kind = Kind::kRetry;
  std::string message;  // verb phrase, object, cause
  std::optional<Duration>
      retry_after;  // of kRetry: this delay instead of the back-off (Retry-After, or a right that is missing)
};

/// What is to be made true: never what happened, so that a missed event loses nothing.
struct Request {
  client::ObjectRef ref;
  std::string id;  // names this one reconcile in all its log lines
};

/// Makes the world equal to one object's spec.
class Reconciler {
 public:
  virtual ~Reconciler() = default;
  /// Called by several workers at once, never twice at once for one key. The object may be gone. Returns soon after
  /// `stop`.
  [[nodiscard]] virtual std::expected<Result, ReconcileError> reconcile(const Request& request,
                                                                        std::stop_token stop) = 0;
};

struct ControllerOptions {
  std::string name;  // for logs and metrics, e.g. "inferencedeployment"
  std::size_t workers = 4;
  RateLimits limits = {};
};

/// One reconciler, its queue and its workers; alone decides what an outcome means for the queue, the metrics and the
/// log.
class Controller {
 public:
  /// `metrics` and `clock` outlive the controller.
  Controller(ControllerOptions options, std::unique_ptr<Reconciler> reconciler, Metrics& metrics, Clock& clock);
  ~Controller();
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  [[nodiscard]] const std::string& name() const { return options_.name; }
  /// Where informers' handlers put keys; may be filled before `start`.
  [[nodiscard]] WorkQueue& queue() { return queue_; }

  void start();
  /// Shuts the queue down and cancels what is being reconciled; keys that still wait are left: the next start finds
  /// them again.
  void request_stop();
  /// Whether all workers have ended (or never began) by `deadline`.
  [[nodiscard]] bool wait_stopped(TimePoint deadline);
  /// How many workers run. Fewer than asked for while started means that something is badly wrong. Thread-safe.
  [[nodiscard]] std::size_t alive() const;
  [[nodiscard]] std::size_t workers() const { return options_.workers; }

 private:
  void work(std::stop_token stop);
  void reconcile_one(const client::ObjectRef& key, std::stop_token stop);
  [[nodiscard]] std::expected<Result, ReconcileError> call_reconciler(const Request& request, std::stop_token stop);
  void settle(const Request& request, const std::expected<Result, ReconcileError>& outcome, Duration took);

  const ControllerOptions options_;
  const std::unique_ptr<Reconciler> reconciler_;
  const ControllerMetrics metrics_;
  Clock& clock_;
  WorkQueue queue_;
  std::atomic<std::uint64_t> reconciles_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable_any worker_ended_;
  std::size_t alive_ = 0;              // guarded by mutex_
  std::vector<std::jthread> threads_;  // last: joins before what it uses is destroyed
};

}  // namespace inference::runtime
