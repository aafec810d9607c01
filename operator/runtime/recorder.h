#pragma once

#include <condition_variable>
#include <deque>
#include <expected>
#include <functional>
#include <map>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/json.h"
#include "base/random.h"
#include "operator/client/api_client.h"
#include "operator/runtime/metrics.h"
#include "operator/runtime/packed_object.h"

namespace inference::runtime {

/// What happened to an object, in a user's words.
struct EventNote {
  enum class Type { kNormal, kWarning };
  Type type = Type::kNormal;
  std::string reason;  // CamelCase, at most 128 bytes: what happened
  std::string action;  // CamelCase, at most 128 bytes: what we were doing
  std::string note;    // a sentence; cut at 1,024 bytes, the API's limit
};

/// Writes one events.k8s.io/v1 Event. Server-side apply fits: the name is ours, so a repeated write is the same write.
using EventWriter = std::function<std::expected<void, client::ApiError>(const Json& event, std::stop_token stop)>;

/// Writes through `api`, which outlives the writer. Needs the rights to create and patch events.
[[nodiscard]] EventWriter event_writer(client::ApiClient& api);

/// Tells users what happened, by events.k8s.io/v1 Events; never in the way of the work that it tells of.
///
/// `record` only enqueues; a thread writes. The queue is bounded, and what does not fit is dropped and counted: events
/// are best effort (KEP-383). The same note on the same object within ten minutes is one Event whose series counts up.
/// Thread-safe.
class Recorder {
 public:
  struct Settings {
    std::string controller = "inference-operator.dev/inference-operator";  // reportingController
    std::string instance;                                                  // reportingInstance: the pod's name
  };
  /// `metrics`, `clock` and `random` outlive the recorder.
  Recorder(Settings settings, EventWriter write, Metrics& metrics, Clock& clock, Random& random);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// `regarding` is the object that it happened to, whole or just apiVersion, kind and metadata.
  void record(const Json& regarding, EventNote note);

  void start();
  /// Takes no more, tries to write what waits until `deadline`, and ends. Whether the thread has ended; it was asked to
  /// if not.
  [[nodiscard]] bool stop(TimePoint deadline);

 private:
  // What makes two events the same: the object's kind, namespace, name and uid, then type, reason, action and note,
  // each ended by a NUL.
  using SeriesKey = std::string;
  struct Series {
    PackedObject event;
    std::int64_t count = 1;
    TimePoint last;
    bool queued = false;  // its newest state is in queue_ already
  };

  void run(std::stop_token stop);
  void write(const Json& event, std::stop_token stop);
  [[nodiscard]] bool pause_before_retry(std::stop_token stop);
  [[nodiscard]] Json make_event(const Json& regarding, const EventNote& note);
  void forget_old_series_locked();

  const Settings settings_;
  const EventWriter write_;
  Metrics& metrics_;
  Clock& clock_;
  Random& random_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  ObjectPacker packer_;  // guarded by mutex_: thousands of events are kept for ten minutes, and are alike
  std::map<SeriesKey, Series> series_;  // guarded by mutex_
  std::deque<SeriesKey> queue_;         // guarded by mutex_: every key here is in series_ and `queued`
  bool closed_ = false;                 // guarded by mutex_
  bool ended_ = true;                   // guarded by mutex_
  std::jthread thread_;                 // last: joins before what it uses is destroyed
};

}  // namespace inference::runtime
