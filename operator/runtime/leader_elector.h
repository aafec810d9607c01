#pragma once

#include <condition_variable>
#include <expected>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/json.h"
#include "base/random.h"
#include "operator/client/api_client.h"
#include "operator/runtime/lease.h"
#include "operator/runtime/metrics.h"

namespace inference::runtime {

/// The three calls that an election makes; each is bounded well below the renew deadline.
struct LeaseCalls {
  using Answer = std::expected<Json, client::ApiError>;
  std::function<Answer(std::stop_token stop)> get;
  /// Fails when the Lease is there already.
  std::function<Answer(const Json& lease, std::stop_token stop)> create;
  /// Fails with a conflict when the Lease is no longer of the resource version that `lease` carries.
  std::function<Answer(const Json& lease, std::stop_token stop)> update;
};

/// Through `api`, which outlives the calls and is made with `lease_client_options`. An update is a server-side apply:
/// the API server compares metadata.resourceVersion there as well, and the operator needs no verb that it does not
/// have.
[[nodiscard]] LeaseCalls lease_calls(client::ApiClient& api, const client::ObjectRef& lease);

/// The Lease, and its namespace outside of a pod, as config/rbac has them.
inline constexpr const char* kDefaultLease = "inference-operator";
inline constexpr const char* kDefaultLeaseNamespace = "inference-system";

/// Who runs for what, and the three times of the field, with client-go's defaults.
struct LeaderElectorOptions {
  client::ObjectRef lease = {};
  std::string identity = {};  // unlike that of any other process, earlier ones of the same pod included
  Duration lease_duration = std::chrono::seconds{15};  // how long others stay away after a renewal; whole seconds
  Duration renew_deadline = std::chrono::seconds{10};  // how long the leader acts on without a renewal
  Duration retry_period = std::chrono::seconds{2};     // between two tries
};

/// One line that says what does not fit together.
[[nodiscard]] std::expected<void, std::string> check(const LeaderElectorOptions& options);

/// The limits of a client for lease calls alone: a call that hangs leaves time for a second within the renew deadline
/// (as controller-runtime), and a wait that the server asks for is the elector's own. It must have no `may_write`.
[[nodiscard]] client::ClientOptions lease_client_options(const LeaderElectorOptions& options,
                                                         client::ClientOptions base);

/// Makes one of several processes the leader, by a coordination.k8s.io/v1 Lease, and says for how long it may write.
///
/// client-go's rules: whoever sees a record unchanged for its duration, by the own monotonic clock, may take the Lease;
/// remote times are never compared. Where it differs it is stricter or sooner: the leader's right ends `renew_deadline`
/// after the last renewal was *sent* (client-go: after it was answered, and a retry period later); others look every
/// half to whole retry period and once more when the record runs out, so that they follow within lease duration + retry
/// period (client-go: 1 to 2.2 periods, which adds up to 4.4); a Lease that vanished counts as held until its record
/// would have run out.
///
/// `may_write` is the fence: asked right before a write it is exact even in a process that was stopped (SIGSTOP, a
/// frozen cgroup) past its lease and has just been continued, since CLOCK_MONOTONIC went on. The client asks again
/// between a request's head and its body. What has passed has lease_duration - renew_deadline to be done; with that as
/// ClientOptions::write_timeout the API server itself gives up what takes longer, counted from the request's head. What
/// remains is what is on its way: a network, or the kernel's socket buffer, can keep a whole request for longer.
///
/// Losing the lease is final: the process has to end. Thread-safe.
class LeaderElector {
 public:
  /// `options` have passed `check`; `clock` and `random` outlive the elector.
  LeaderElector(LeaderElectorOptions options, LeaseCalls calls, LeaderMetrics metrics, Clock& clock, Random& random);
  /// Gives up without releasing the lease.
  ~LeaderElector();
  LeaderElector(const LeaderElector&) = delete;
  LeaderElector& operator=(const LeaderElector&) = delete;

  /// Begins to run for the lease, on a thread of its own. Once.
  void start();
  /// Blocks until this process leads (true) or `stop`.
  [[nodiscard]] bool wait_leading(std::stop_token stop);
  /// Blocks until the lease is lost (then the error is one line that says why) or `stop`. Also notices when the
  /// elector's own thread hangs.
  [[nodiscard]] std::expected<void, std::string> wait_lost(std::stop_token stop);
  /// Whether this process leads and has renewed the lease less than `renew_deadline` ago.
  [[nodiscard]] bool may_write() const;
  /// For /healthz: an error when the lease ran out long ago and the process is still here.
  [[nodiscard]] std::expected<void, std::string> alive() const;
  /// Renews no more and gives the lease back, so that another can take it at once; to be called when nothing writes any
  /// more. What is not done by `deadline` is cancelled. Whether the thread has ended.
  [[nodiscard]] bool stop(TimePoint deadline);

 private:
  void run(std::stop_token stop);
  void try_once(std::stop_token stop);
  [[nodiscard]] bool renew(std::stop_token stop);
  void acquire_or_follow(std::stop_token stop);
  void observe(const Json& lease);
  [[nodiscard]] bool is_free(const LeaseRecord& record) const;
  void take(std::stop_token stop);
  void release();
  [[nodiscard]] LeaseRecord claim() const;
  [[nodiscard]] TimePoint next_try(TimePoint began) const;
  void pause_until(TimePoint deadline, std::stop_token stop);

  [[nodiscard]] bool leading() const;
  [[nodiscard]] bool is_lost() const;
  void note_held(const Json& lease, TimePoint sent);
  void note_failure(const client::ApiError& error);
  void lose(std::string why);
  void lose_locked(std::string why);

  const LeaderElectorOptions options_;
  const LeaseCalls calls_;
  const LeaderMetrics metrics_;
  Clock& clock_;
  Random& random_;

  // The last record seen and since when it has been as it is; used by the elector's thread only, like the next two.
  std::optional<LeaseRecord> record_;
  TimePoint since_;
  std::string resource_version_;

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::optional<TimePoint> leads_until_;  // guarded by mutex_, like the rest; none: does not lead
  std::string lost_;                      // why; empty: it is not
  std::string last_error_;                // empty after a success
  bool ended_ = true;
  std::stop_source release_;  // ends the release
  std::jthread thread_;       // last: joins before what it uses is destroyed
};

}  // namespace inference::runtime
