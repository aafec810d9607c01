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
#include "reconcilers/missing_rights.h"
#include "reconcilers/own_writes.h"
#include "reconcilers/spec_changes.h"

namespace inference::reconcilers {

/// Keeps one InferenceDeployment's children equal to what its spec renders to, and its status equal to the truth:
/// gather, plan, apply, status.
class InferenceDeploymentReconciler final : public runtime::Reconciler {
 public:
  /// All but `caches` and `own_namespace`, the operator's, outlive the reconciler.
  InferenceDeploymentReconciler(Caches caches, client::ApiClient& api, runtime::Recorder& recorder,
                                runtime::Metrics& metrics, const render::TemplateSet& templates, Clock& clock,
                                std::string own_namespace);

  /// Each change of an InferenceDeployment, before its key is enqueued: from here on its spec waits.
  void see(const runtime::Change& change);
  /// Each change of a pod.
  void see_pod(const runtime::Change& change);
  /// Each change of a child.
  void see_child(const client::Resource& resource, const runtime::Change& change) { own_writes_.see(resource, change); }

  [[nodiscard]] std::expected<runtime::Result, runtime::ReconcileError> reconcile(const runtime::Request& request,
                                                                                  std::stop_token stop) override;

 private:
  /// One look at the object, and all that follows from it.
  [[nodiscard]] std::expected<runtime::Result, runtime::ReconcileError> work(const runtime::Request& request,
                                                                             std::stop_token stop);
  /// How the groups fared since the last look, and who must hear of it.
  void count_restarts(Observed& observed, const client::ObjectRef& ref);
  void forget_groups(const client::ObjectRef& ref);
  [[nodiscard]] runtime::ReconcileError retry(const client::ObjectRef& ref, const client::ApiError& error,
                                              const std::string& doing);
  /// Takes refusals for a passing fault until they last.
  void be_patient(const Observed& observed, const client::ObjectRef& ref, std::vector<ApplyFailure>& failures);
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
  MissingRights missing_rights_;
  GroupWatch group_watch_;
  Guarded<std::map<client::ObjectRef, TimePoint>> told_at_;  // when each object's status was last written
  ClusterFactsSource facts_;
};

}  // namespace inference::reconcilers
