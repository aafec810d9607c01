#pragma once

#include <expected>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "base/clock.h"
#include "operator/client/api_client.h"
#include "render/render.h"

namespace inference::reconcilers {

/// The policy of config/gang, and its binding, that puts each pod of a natively scheduled group into its PodGroup.
inline constexpr const char* kGangPolicyName = "inference-operator-gang";

/// What the cluster serves, asked of discovery and remembered for some seconds. Thread-safe.
///
/// In Kubernetes 1.37 the API server serves scheduling.k8s.io/v1beta1 `podgroups` only with its gate GenericWorkload
/// on, and with the gate off it drops a pod's schedulingGroup (pkg/registry/scheduling/rest/storage_scheduling.go), so
/// discovery says all that a dry-run pod would. Who holds groups in Volcano only such a pod can tell.
class ClusterFactsSource {
 public:
  /// `own_namespace` is where pods are tried, as dry runs.
  ClusterFactsSource(client::ApiClient& api, Clock& clock, std::string own_namespace)
      : api_(api), clock_(clock), own_namespace_(std::move(own_namespace)) {}

  /// Asks again when what is remembered is older than kFreshFor.
  [[nodiscard]] std::expected<render::ClusterFacts, client::ApiError> get(std::stop_token stop);
  /// The same for a LocalQueue of Kueue, with the facts of `get` around it. Nothing is asked where Kueue is not served.
  [[nodiscard]] std::expected<render::ClusterFacts, client::ApiError> get_with_queue(const client::ObjectRef& queue,
                                                                                     std::stop_token stop);

  /// Long enough that a burst of reconciles asks once, short enough that LeaderWorkerSet installed a moment ago is
  /// noticed.
  static constexpr std::chrono::seconds kFreshFor{10};

 private:
  [[nodiscard]] std::expected<render::ClusterFacts, client::ApiError> ask(std::stop_token stop);

  client::ApiClient& api_;
  Clock& clock_;
  const std::string own_namespace_;
  std::mutex mutex_;
  std::optional<render::ClusterFacts> known_;  // guarded by mutex_, like the next
  TimePoint asked_;
  struct Queue {
    render::QueueFacts facts;
    TimePoint asked;
  };
  std::map<client::ObjectRef, Queue> queues_;  // those asked for within kFreshFor
};

}  // namespace inference::reconcilers
