#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace prometheus {
class Counter;
class Gauge;
class Histogram;
}  // namespace prometheus

namespace inference::runtime {

/// How one reconcile ended; the values of the label `result` of `reconcile_total`.
enum class ReconcileOutcome { kSuccess, kRequeueAfter, kError, kTerminalError };

/// The time series of one work queue. A cheap handle; valid as long as the `Metrics` it came from. Thread-safe.
class QueueMetrics {
 public:
  void added() const;
  void retried() const;
  void depth(std::size_t keys) const;
  void waited(Duration in_queue) const;
  void worked(Duration on_key) const;

 private:
  friend class Metrics;
  prometheus::Counter* adds_ = nullptr;
  prometheus::Counter* retries_ = nullptr;
  prometheus::Gauge* depth_ = nullptr;
  prometheus::Histogram* queue_duration_ = nullptr;
  prometheus::Histogram* work_duration_ = nullptr;
};

/// The time series of one controller. A cheap handle; valid as long as the `Metrics` it came from. Thread-safe.
class ControllerMetrics {
 public:
  void reconciled(ReconcileOutcome outcome, Duration took) const;
  /// An exception reached the worker loop: always a defect of ours.
  void panicked() const;

 private:
  friend class Metrics;
  prometheus::Counter* outcomes_[4] = {};
  prometheus::Counter* errors_ = nullptr;
  prometheus::Counter* terminal_errors_ = nullptr;
  prometheus::Counter* panics_ = nullptr;
  prometheus::Histogram* duration_ = nullptr;
};

/// The time series of one informer. A cheap handle; valid as long as the `Metrics` it came from. Thread-safe.
class InformerMetrics {
 public:
  void objects(std::size_t count) const;
  void watch_restarted() const;
  void listed() const;

 private:
  friend class Metrics;
  prometheus::Gauge* objects_ = nullptr;
  prometheus::Counter* watch_restarts_ = nullptr;
  prometheus::Counter* lists_ = nullptr;
};

/// Whether this process leads, as `leader_election_master_status`. A cheap handle; valid as long as the `Metrics` it
/// came from. Thread-safe.
class LeaderMetrics {
 public:
  void leads() const;
  void follows() const;

 private:
  friend class Metrics;
  prometheus::Gauge* status_ = nullptr;
};

/// GPUs of one model: asked for, held, and held without serving.
struct GpuCounts {
  std::int64_t requested = 0;
  std::int64_t allocated = 0;
  std::int64_t leaked = 0;
};

/// All that `/metrics` shows, under the names that controller-runtime's users know, without its `controller_runtime_`
/// prefix. Thread-safe.
class Metrics {
 public:
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  [[nodiscard]] QueueMetrics queue(const std::string& name);
  [[nodiscard]] ControllerMetrics controller(const std::string& name);
  [[nodiscard]] InformerMetrics informer(const std::string& kind);
  /// `lease` is the Lease's name.
  [[nodiscard]] LeaderMetrics leader(const std::string& lease);

  /// One request to the API server has ended: `rest_client_requests_total`. `code` is the HTTP status, or 0 when there
  /// was no answer.
  void count_request(std::string_view verb, int code);
  /// Every object that a changed spec asks for has been written, so long after the change was seen:
  /// `inference_spec_to_children_applied_seconds`.
  void count_children_applied(Duration since_seen);
  /// `inference_gpus_requested`, `inference_gpus_allocated` and `inference_gpus_leaked` of the model, until it is
  /// forgotten.
  void set_gpus(const std::string& ns, const std::string& name, const GpuCounts& counts);
  void forget_gpus(const std::string& ns, const std::string& name);
  /// An event was thrown away (`events_dropped_total`).
  void count_dropped_event();

  /// Everything in the text exposition format, version 0.0.4.
  [[nodiscard]] std::string to_text() const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace inference::runtime
