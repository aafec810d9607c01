#include "reconcilers/inference_deployment_reconciler.h"

#include <algorithm>

#include "base/json_members.h"
#include "base/logging.h"
#include "crd/conditions.h"
#include "operator/client/error_class.h"
#include "operator/runtime/object_meta.h"
#include "reconcilers/children.h"
#include "reconcilers/plan.h"
#include "reconcilers/pod_groups.h"
#include "reconcilers/status.h"

namespace inference::reconcilers {
namespace {

using runtime::ReconcileError;
using runtime::Result;

/// A missing right or a missing API comes back by someone's hand, not by our asking often.
constexpr std::chrono::seconds kSlowRetry{60};
/// LeaderWorkerSet or a gang scheduler installed later is noticed within this.
constexpr std::chrono::seconds kClusterRetry{15};
/// A queue, its ClusterQueue and its flavors are not watched either.
constexpr std::chrono::seconds kQueueRetry{60};
/// A foreign object that is in our place may be removed; nothing that we watch tells us.
constexpr std::chrono::seconds kConflictRetry{30};

/// Whether the object's status says already that a right is missing: to those who read it the patience is over.
bool is_told_forbidden(const Json* status) {
  if (status == nullptr) return false;
  const auto conditions = crd::Conditions::from_json(status->value("conditions", Json::array()));
  const crd::Condition* stalled = conditions.find("Stalled");
  return stalled != nullptr && stalled->reason == "Forbidden";
}

/// Counts in status follow the world at this pace.
constexpr std::chrono::seconds kTellingPace{1};

/// The Deployment or LeaderWorkerSet that status speaks of: as just written, else as cached. While one replaces the
/// other it is the wanted one.
Workload current_workload(const Observed& observed, const Plan& plan, const Applied& applied) {
  if (const Json* written = applied.workload()) return read_workload(written);
  const Json* live = nullptr;
  for (const auto& child : observed.children) {
    if (child.resource.kind != "Deployment" && child.resource.kind != "LeaderWorkerSet") continue;
    const bool wanted = !plan.rendered || std::ranges::any_of(plan.rendered->objects, [&](const Json& object) {
      return object["kind"] == child.resource.kind;
    });
    if (wanted) live = child.object.get();
  }
  return read_workload(live);
}

/// The object and all its children are going with their namespace: neither a status nor an event is of use.
bool is_ending(const Applied& applied) {
  return std::ranges::any_of(applied.failures,
                             [](const ApplyFailure& failure) { return failure.kind == ApplyFailure::Kind::kEnding; });
}

std::expected<Result, ReconcileError> outcome(const Plan& plan, const Applied& applied) {
  for (const auto& failure : applied.failures) {
    const std::string message = "write " + failure.object + ": " + failure.message;
    switch (failure.kind) {
      case ApplyFailure::Kind::kTransient:
        return std::unexpected(ReconcileError{ReconcileError::Kind::kRetry, message, failure.retry_after});
      case ApplyFailure::Kind::kForbidden:
        return std::unexpected(ReconcileError{ReconcileError::Kind::kRetry, message, kSlowRetry});
      case ApplyFailure::Kind::kInvalid:
        return std::unexpected(ReconcileError{ReconcileError::Kind::kTerminal, message, {}});
      case ApplyFailure::Kind::kEnding:
        return Result::await_change();
      case ApplyFailure::Kind::kForeign:
        return Result::requeue_after(kConflictRetry, "an object that is not ours is in the way");
    }
  }
  if (plan.refusal &&
      (plan.refusal->reason.starts_with("ClusterLacks") || plan.refusal->reason == "SchedulerMissing")) {
    return Result::requeue_after(kClusterRetry, "the cluster lacks what the spec needs");
  }
  const bool of_a_queue =
      plan.rendered && std::ranges::any_of(plan.rendered->notices, [](const render::Notice& notice) {
        return notice.path == "spec.scheduling.queue" && notice.reason != "QueueNotUsed";
      });
  if (of_a_queue) return Result::requeue_after(kQueueRetry, "something is to be said of the queue");
  return Result::await_change();
}

/// How long until what began at `since` (RFC 3339) has lasted for `limit`; Duration::max() when that is no time.
Duration until_lasted(const std::string& since, std::chrono::seconds limit, WallTime now) {
  const auto begin = parse_rfc3339(since);
  return begin ? *begin + limit - now : Duration::max();
}

/// What those who release groups must know of those that fail.
std::vector<gates::Pause> pauses_of(const GroupRestarts& restarts, const client::ObjectRef& set) {
  std::vector<gates::Pause> pauses;
  for (const FailingGroup& group : restarts.failing) {
    if (group.restarts == 0) continue;
    pauses.push_back({.group = {.ns = set.ns, .set = set.name, .index = group.index},
                      .leader_uid = group.leader,
                      .until = group.not_before(),
                      .restarts = group.restarts});
  }
  return pauses;
}

/// How long until time alone changes what is to be told or done about groups that fail.
Duration until_groups_change(const Observed& observed, WallTime now) {
  const auto next = observed.groups ? next_change(*observed.groups, now) : std::nullopt;
  return next ? Duration(*next - now) : Duration::max();
}

/// How long until a group has waited behind its gates for as long as a start may take; Duration::max() when none waits.
Duration until_gated_too_long(const Observed& observed, const Plan& plan, WallTime now) {
  if (!observed.gated || !plan.rendered) return Duration::max();
  const std::chrono::seconds limit{
      plan.rendered->resolved.value("/startup/timeoutSeconds"_json_pointer, std::int64_t{0})};
  return until_lasted(observed.gated->since, limit, now);
}

/// What is asked for and held. Where the spec is refused, what runs is judged by the last one that was not.
Gpus count_gpus(const Observed& observed, const Plan& plan, WallTime now) {
  static const Json kNone = Json::object();
  const Json* resolved = &kNone;
  if (plan.rendered) {
    resolved = &plan.rendered->resolved;
  } else if (observed.status() != nullptr && observed.status()->contains("resolved")) {
    resolved = &(*observed.status())["resolved"];
  }
  const auto number = [&](const Json::json_pointer& at) { return resolved->value(at, std::int64_t{0}); };
  Gpus gpus = read_gpus(observed.pods, observed.claims,
                        std::chrono::seconds{number("/startup/timeoutSeconds"_json_pointer)}, now);
  gpus.requested =
      number("/replicas"_json_pointer) * number("/nodes"_json_pointer) * number("/gpusPerPod"_json_pointer);
  return gpus;
}

/// The outcome, looked at again after the shortest of `delays` at the latest. Those that do not lie ahead don't count.
std::expected<Result, ReconcileError> sooner_of(std::expected<Result, ReconcileError> outcome,
                                                std::initializer_list<Duration> delays) {
  for (const Duration delay : delays) {
    const bool ahead = delay > Duration::zero() && delay < Duration::max();
    if (!outcome || !ahead || (outcome->delay() && *outcome->delay() <= delay)) continue;
    outcome = Result::requeue_after(delay, "what lasts too long is told of");
  }
  return outcome;
}

}  // namespace

InferenceDeploymentReconciler::InferenceDeploymentReconciler(Caches caches, client::ApiClient& api,
                                                             runtime::Recorder& recorder, runtime::Metrics& metrics,
                                                             const render::TemplateSet& templates, Clock& clock,
                                                             std::string own_namespace)
    : caches_(std::move(caches)),
      api_(api),
      recorder_(recorder),
      metrics_(metrics),
      templates_(templates),
      clock_(clock),
      own_writes_(clock),
      spec_changes_(clock),
      missing_rights_(clock),
      facts_(api, clock, std::move(own_namespace)) {}

void InferenceDeploymentReconciler::see(const runtime::Change& change) {
  spec_changes_.see(change);
  own_writes_.see(client::resources::kInferenceDeployment, change);
}

void InferenceDeploymentReconciler::see_pod(const runtime::Change& change) {
  const Json& pod = change.after != nullptr ? *change.after : *change.before;
  for (const auto& owner : owner_of_pod(pod)) group_watch_.see(owner, pod);
}

void InferenceDeploymentReconciler::count_restarts(Observed& observed, const client::ObjectRef& ref) {
  const auto set = std::ranges::find(observed.children, client::resources::kLeaderWorkerSet, &LiveChild::resource);
  if (set == observed.children.end()) return forget_groups(ref);
  const GroupShape shape{.wanted = set->object->value("/spec/replicas"_json_pointer, std::int64_t{1}),
                         .size = set->object->value("/spec/leaderWorkerTemplate/size"_json_pointer, std::int64_t{1})};
  const Json* status = observed.status();
  const GroupRestarts told = status == nullptr ? GroupRestarts() : GroupRestarts::from_json(member(*status, "groups"));
  observed.groups =
      group_watch_.count(ref, runtime::uid_of(*observed.object), told, observed.pods, shape, clock_.wall_now());
  if (caches_.pauses != nullptr) caches_.pauses->set(ref, pauses_of(*observed.groups, runtime::ref_of(*set->object)));
}

void InferenceDeploymentReconciler::forget_groups(const client::ObjectRef& ref) {
  group_watch_.forget(ref);
  if (caches_.pauses != nullptr) caches_.pauses->set(ref, {});
}

std::expected<Result, ReconcileError> InferenceDeploymentReconciler::reconcile(const runtime::Request& request,
                                                                               std::stop_token stop) {
  auto outcome = work(request, stop);
  missing_rights_.reconciled(request.ref);
  return outcome;
}

ReconcileError InferenceDeploymentReconciler::retry(const client::ObjectRef& ref, const client::ApiError& error,
                                                    const std::string& doing) {
  using Remedy = client::ErrorClass::Remedy;
  const Remedy remedy = client::classify(error).remedy;
  ReconcileError failure = ReconcileError::retry(doing, error);
  if (remedy == Remedy::kGrant && missing_rights_.last(ref)) failure.retry_after = kSlowRetry;
  if (remedy == Remedy::kChange) failure.kind = ReconcileError::Kind::kTerminal;
  return failure;
}

void InferenceDeploymentReconciler::be_patient(const Observed& observed, const client::ObjectRef& ref,
                                               std::vector<ApplyFailure>& failures) {
  using Kind = ApplyFailure::Kind;
  if (std::ranges::find(failures, Kind::kForbidden, &ApplyFailure::kind) == failures.end()) return;
  if (missing_rights_.last(ref) || is_told_forbidden(observed.status())) return;
  for (ApplyFailure& failure : failures) {
    if (failure.kind == Kind::kForbidden) failure.kind = Kind::kTransient;
  }
}

std::expected<Result, ReconcileError> InferenceDeploymentReconciler::work(const runtime::Request& request,
                                                                          std::stop_token stop) {
  auto observed = gather(caches_, own_writes_, request.ref);
  if (!observed) {
    forget_groups(request.ref);
    told_at_.with([&](auto& told_at) { told_at.erase(request.ref); });
    metrics_.forget_gpus(request.ref.ns, request.ref.name);
    return Result::await_change();
  }

  count_restarts(*observed, request.ref);
  render::ClusterFacts facts;
  if (needs_cluster_facts(*observed)) {
    const auto queue = queue_of(*observed);
    const auto answer = queue ? facts_.get_with_queue({request.ref.ns, *queue}, stop) : facts_.get(stop);
    if (!answer) return std::unexpected(retry(request.ref, answer.error(), "ask what the cluster serves"));
    facts = *answer;
  }

  const Plan plan = make_plan(*observed, facts, templates_);
  // From here on everything is decided; what follows only carries it out and tells.
  const std::string uid = (*observed->object)["metadata"].value("uid", "");
  Applied applied = apply(api_, plan, uid, request.id, stop);
  for (const LiveChild& child : applied.written)
    own_writes_.note(request.ref, child.resource, child.object, caches_.of(child.resource));
  if (stop.stop_requested() || is_ending(applied)) return Result::await_change();
  be_patient(*observed, request.ref, applied.failures);
  const auto generation = (*observed->object)["metadata"].value("generation", std::int64_t{0});
  count_applied(request.ref, generation, plan, applied);

  const WallTime now = clock_.wall_now();
  const Gpus gpus = count_gpus(*observed, plan, now);
  metrics_.set_gpus(request.ref.ns, request.ref.name,
                    {.requested = gpus.requested, .allocated = gpus.allocated, .leaked = gpus.leaked});
  const Duration until_too_long = until_gated_too_long(*observed, plan, now);
  const auto unheeded = find_unheeded_group(observed->children, observed->pods);
  const Duration until_lacking = unheeded ? until_lasted(unheeded->since, kUnheededPatience, now) : Duration::max();
  const Json status =
      compute_status({.generation = generation,
                      .previous = observed->status(),
                      .rendered = plan.rendered ? &*plan.rendered : nullptr,
                      .refusal = plan.refusal ? &*plan.refusal : nullptr,
                      .model_uri = observed->deployment ? observed->deployment->spec.model.uri.value_or("") : "",
                      .failures = applied.failures,
                      .workload = current_workload(*observed, plan, applied),
                      .pods = read_pods(observed->pods),
                      .gpus = gpus,
                      .groups = observed->groups ? &*observed->groups : nullptr,
                      .gated = observed->gated ? std::optional(observed->gated->why) : std::nullopt,
                      .gated_too_long = until_too_long <= Duration::zero(),
                      .unheeded_group = until_lacking <= Duration::zero() ? unheeded->name : ""},
                     to_rfc3339(now));
  const auto done = sooner_of(outcome(plan, applied),
                              {until_too_long, until_lacking, gpus.until_leak, until_groups_change(*observed, now)});
  if (observed->status() != nullptr && !first_difference(*observed->status(), status) &&
      !first_difference(status, *observed->status())) {
    return done;
  }
  if (const Duration pause = pause_before_telling(*observed, status, request.ref); pause > Duration::zero() && done) {
    const bool sooner = done->delay() && *done->delay() <= pause;
    return sooner ? done : Result::requeue_after(pause, "counts alone are told once a second");
  }
  if (auto written = write_status(*observed, status, stop); !written) return std::unexpected(written.error());
  tell(*observed, status, applied);
  return done;
}

/// Before status is written: that would say that the generation has been dealt with.
void InferenceDeploymentReconciler::count_applied(const client::ObjectRef& ref, std::int64_t generation,
                                                  const Plan& plan, const Applied& applied) {
  if (!plan.rendered) return;
  if (!applied.failures.empty()) return spec_changes_.failed(ref, generation);
  if (plan.awaits_end || !applied.recreated.empty()) return;
  if (const auto waited = spec_changes_.applied(ref, generation)) metrics_.count_children_applied(*waited);
}

/// A model with hundreds of pods changes its counts hundreds of times while it starts: those are told at a pace, and
/// only what a condition's status or reason says is told at once.
Duration InferenceDeploymentReconciler::pause_before_telling(const Observed& observed, const Json& status,
                                                             const client::ObjectRef& ref) {
  if (says_something_new(observed.status(), status)) return Duration::zero();
  return told_at_.with([&](const auto& told_at) {
    const auto last = told_at.find(ref);
    return last == told_at.end() ? Duration::zero() : last->second + kTellingPace - clock_.now();
  });
}

std::expected<void, ReconcileError> InferenceDeploymentReconciler::write_status(const Observed& observed,
                                                                                const Json& status,
                                                                                std::stop_token stop) {
  const auto ref = runtime::ref_of(*observed.object);
  auto written =
      api_.write_status(client::resources::kInferenceDeployment, ref, runtime::uid_of(*observed.object), status, stop);
  told_at_.with([&](auto& told_at) { told_at[ref] = clock_.now(); });
  if (written) {
    own_writes_.note(ref, client::resources::kInferenceDeployment, std::make_shared<const Json>(std::move(*written)),
                     caches_.deployments);
    return {};
  }
  if (written.error().is_not_found()) return {};
  // Most likely it was deleted and made anew, which the cache will show.
  if (written.error().is_invalid()) return std::unexpected(ReconcileError::retry("write status", written.error()));
  return std::unexpected(retry(ref, written.error(), "write status"));
}

/// Events speak of transitions only, and come after the status that they announce.
void InferenceDeploymentReconciler::tell(const Observed& observed, const Json& status, const Applied& applied) {
  using Type = runtime::EventNote::Type;
  for (const auto& removed : applied.removed) {
    recorder_.record(*observed.object, {Type::kNormal, "Pruned", "Reconcile",
                                        removed + " is no longer part of this model and was deleted"});
  }
  for (const auto& [object, why] : applied.recreated) {
    recorder_.record(*observed.object, {Type::kNormal, "Recreated", "Reconcile",
                                        object +
                                            " was deleted, and is made anew once its pods have ended: Kueue takes "
                                            "no change of " +
                                            why});
  }
  for (auto& change : transitions(observed.status(), status)) {
    if (change.warning) {
      log::warning("a model needs attention", {{"object", runtime::ref_of(*observed.object).to_string()},
                                               {"reason", change.reason},
                                               {"message", change.message}});
    }
    recorder_.record(*observed.object,
                     {change.warning ? Type::kWarning : Type::kNormal, change.reason, "Reconcile", change.message});
  }
}

}  // namespace inference::reconcilers
