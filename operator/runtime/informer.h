#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "operator/runtime/reflector.h"

namespace inference::runtime {

using ChangeHandler = std::function<void(const Change&)>;
using ServedHandler = std::function<void(bool served)>;

struct InformerOptions {
  std::string kind;  // for logs and metrics, e.g. "Deployment.apps" (two groups have a PodGroup)
  std::vector<Index> indexes = {};
  FailureLog* failures = nullptr;  // as the reflector's
};

/// One kind of object, cached and watched: a store kept fresh by a reflector on its own thread, and the handlers that
/// hear of each change.
class Informer {
 public:
  /// `metrics`, `clock` and `random` outlive the informer.
  Informer(InformerOptions options, std::unique_ptr<ListWatch> source, Metrics& metrics, Clock& clock, Random& random);
  ~Informer();
  Informer(const Informer&) = delete;
  Informer& operator=(const Informer&) = delete;

  /// Before `start` only. Handlers run on the reflector's thread: they map the change to keys and enqueue, nothing
  /// else.
  void on_change(ChangeHandler handler);
  /// Before `start` only. Told when the API server begins or ceases to serve the kind (a CRD installed or removed
  /// later).
  void on_served(ServedHandler handler);

  void start();
  /// Asks the thread to end; the destructor and `wait_stopped` wait for it.
  void request_stop();
  /// Whether the thread has ended (or never began) by `deadline`.
  [[nodiscard]] bool wait_stopped(TimePoint deadline);

  [[nodiscard]] const std::string& kind() const { return options_.kind; }
  [[nodiscard]] Lister lister() const { return store_.lister(); }
  /// The rest is thread-safe and means what it means for the reflector.
  [[nodiscard]] bool has_synced() const { return reflector_.has_synced(); }
  [[nodiscard]] bool served() const { return reflector_.served(); }
  [[nodiscard]] std::string last_error() const { return reflector_.last_error(); }
  /// Waits for `has_synced`; false at `deadline` or `stop`.
  [[nodiscard]] bool wait_for_sync(TimePoint deadline, std::stop_token stop);

 private:
  [[nodiscard]] ReflectorListener listener();
  void run(std::stop_token stop);

  const InformerOptions options_;
  const std::unique_ptr<ListWatch> source_;
  Clock& clock_;
  StoreWriter store_;
  std::vector<ChangeHandler> change_handlers_;  // constant once started
  std::vector<ServedHandler> served_handlers_;  // constant once started
  Reflector reflector_;
  std::mutex mutex_;
  std::condition_variable_any progressed_;  // synced or ended
  bool ended_ = true;                       // guarded by mutex_
  std::jthread thread_;                     // last: joins before what it uses is destroyed
};

}  // namespace inference::runtime
