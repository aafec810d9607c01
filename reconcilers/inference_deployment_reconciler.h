#pragma once

#include <expected>
#include <stop_token>

#include "base/clock.h"
#include "operator/client/api_client.h"
#include "operator/runtime/controller.h"
#include "operator/runtime/metrics.h"
#include "operator/runtime/recorder.h"
#include "reconcilers/apply.h"
#include "reconcilers/cluster_facts.h"
#include "reconcilers/gather.h"
#include "reconcilers/own_writes.h"
#include "reconcilers/spec_changes.h"

namespace inference::reconcilers {

/// Keeps one InferenceDeployment's children equal to what its spec renders to, and its status equal to the truth:
/// gather, plan, apply, status.
class InferenceDeploymentReconciler final : public runtime::Reconciler {
 public:
  /// All but `caches` outlive the reconciler.
  InferenceDeploymentReconciler(Caches caches, client::ApiClient& api, runtime::Recorder& recorder,
                                runtime::Metrics& metrics, const render::TemplateSet& templates, Clock& clock);

  /// Each change of an InferenceDeployment, before its key is enqueued: from here on its spec waits.
  void see(const runtime::Change& change) { spec_changes_.see(change); }

  [[nodiscard]] std::expected<runtime::Result, runtime::ReconcileError> reconcile(const runtime::Request& request,
                                                                                  std::stop_token stop) override;

 private:
  [[nodiscard]] std::expected<void, runtime::ReconcileError> write_status(const Observed& observed, const Json& status,
                                                                          std::stop_token stop);
  [[nodiscard]] Duration pause_before_telling(const Observed& observed, const Json& status,
                                              const client::ObjectRef& ref);
  void count_applied(const client::ObjectRef& ref, std::int64_t generation, const Plan& plan, const Applied& applied);
  void tell(const Observed& observed, const Json& status, const Applied& applied);

  const Caches caches_;
  client::ApiClient& api_;
  runtime::Recorder& recorder_;
  runtime::Metrics& metrics_;
  const render::TemplateSet& templates_;
  Clock& clock_;
  OwnWrites own_writes_;
  SpecChanges spec_changes_;
  Guarded<std::map<client::ObjectRef, TimePoint>> told_at_;  // when each object's status was last written
  ClusterFactsSource facts_;
};

}  // namespace inference::reconcilers
