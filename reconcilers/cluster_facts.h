#pragma once

#include <expected>
#include <mutex>
#include <optional>
#include <stop_token>

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
/// discovery says all that a dry-run pod would, without the right to create pods.
class ClusterFactsSource {
 public:
  ClusterFactsSource(client::ApiClient& api, Clock& clock) : api_(api), clock_(clock) {}

  /// Asks again when what is remembered is older than kFreshFor.
  [[nodiscard]] std::expected<render::ClusterFacts, client::ApiError> get(std::stop_token stop);

  /// Long enough that a burst of reconciles asks once, short enough that LeaderWorkerSet installed a moment ago is
  /// noticed.
  static constexpr std::chrono::seconds kFreshFor{10};

 private:
  [[nodiscard]] std::expected<render::ClusterFacts, client::ApiError> ask(std::stop_token stop);

  client::ApiClient& api_;
  Clock& clock_;
  std::mutex mutex_;
  std::optional<render::ClusterFacts> known_;  // guarded by mutex_, like the next
  TimePoint asked_;
};

}  // namespace inference::reconcilers
