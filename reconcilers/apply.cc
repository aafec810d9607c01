#include "reconcilers/apply.h"

#include <algorithm>
#include <array>

#include "base/logging.h"
#include "operator/client/error_class.h"
#include "operator/runtime/object_meta.h"
#include "reconcilers/children.h"

namespace inference::reconcilers {
namespace {

using Kind = ApplyFailure::Kind;
using Outcome = std::expected<Json, ApplyFailure>;  // as the API server has it now

ApplyFailure failure_of(const client::ApiError& error, std::string object) {
  const client::ErrorClass found = client::classify(error);
  ApplyFailure failure{.kind = Kind::kTransient,
                       .object = std::move(object),
                       .message = error.message.empty() ? error.to_string() : error.message};
  switch (found.remedy) {
    case client::ErrorClass::Remedy::kChange:
      failure.kind = Kind::kInvalid;
      break;
    case client::ErrorClass::Remedy::kGrant:
      failure.kind = Kind::kForbidden;
      break;
    case client::ErrorClass::Remedy::kEnding:
      failure.kind = Kind::kEnding;
      break;
    case client::ErrorClass::Remedy::kWait:
      failure.retry_after = *found.retry_after;
      break;
    // A conflict too: the next look finds out whether it was another's object or only another write.
    case client::ErrorClass::Remedy::kRefetch:
    case client::ErrorClass::Remedy::kBackoff:
    case client::ErrorClass::Remedy::kStop:
      break;
  }
  return failure;
}

/// An object of this name is there and is not ours.
ApplyFailure foreign(const Json& live, std::string object) {
  std::string owner = "nobody controls it";
  for (const Json& reference : live.value("/metadata/ownerReferences"_json_pointer, Json::array())) {
    if (reference.value("controller", false))
      owner = reference.value("kind", "") + " " + reference.value("name", "") + " controls it";
  }
  return {.kind = Kind::kForeign, .object = std::move(object), .message = owner};
}

/// LeaderWorkerSet makes a headless Service of its own name, by which workers find their leader, and takes any Service
/// that is there already for it (pkg/utils/controller, CreateHeadlessServiceIfNotExists).
std::optional<ApplyFailure> headless_name_taken(client::ApiClient& api, const Json& object, std::stop_token stop) {
  const auto ref = runtime::ref_of(object);
  const auto live = api.get(client::resources::kService, ref, stop);
  if (!live) {
    if (live.error().is_not_found()) return std::nullopt;
    return failure_of(live.error(), "Service " + ref.to_string());
  }
  const auto owners = runtime::owners_of(*live);
  if (std::ranges::any_of(owners, [](const auto& owner) { return owner.kind == "LeaderWorkerSet"; }))
    return std::nullopt;
  ApplyFailure failure = foreign(*live, "Service " + ref.to_string());
  failure.message += "; the LeaderWorkerSet needs this name for its headless Service";
  return failure;
}

/// Writes one child. What the cache does not show may still exist: another's object, or ours that the cache has not
/// heard of yet.
Outcome write(client::ApiClient& api, const Write& write, std::string_view owner_uid, std::string_view reconcile_id,
              std::stop_token stop) {
  const std::string name = describe(write.object);
  client::Force force = client::Force::kYes;
  if (!write.cached || write.recreation) {
    const auto live = api.get(write.resource, runtime::ref_of(write.object), stop);
    if (live && !is_controlled_by(*live, owner_uid)) return std::unexpected(foreign(*live, name));
    if (live && !reason_to_write(*live, write.object)) return *live;
    if (!live && !live.error().is_not_found()) return std::unexpected(failure_of(live.error(), name));
    // Without force the server itself refuses if someone creates a different object between our look and our write.
    if (!live) force = client::Force::kNo;
    if (!live && write.resource == client::resources::kLeaderWorkerSet) {
      if (auto taken = headless_name_taken(api, write.object, stop)) return std::unexpected(std::move(*taken));
    }
  }
  auto answer = api.apply(write.resource, write.object, {.force = force}, stop);
  if (!answer) return std::unexpected(failure_of(answer.error(), name));
  log::info("applied child", {{"child", name}, {"why", write.why}, {"reconcile", std::string(reconcile_id)}});
  return answer.value();
}

/// Begins the end of what is to be made anew. The object as it goes, null when it is gone: then it may be written.
Outcome remove_first(client::ApiClient& api, const Write& write, std::string_view reconcile_id, std::stop_token stop) {
  const auto ref = runtime::ref_of(write.object);
  const std::string name = describe(write.object);
  // In the foreground: pods of the old one would keep those of the new one, of the same names, from being made.
  const auto removed = api.remove(
      write.resource, ref, {.uid = write.recreation->uid, .propagation = client::Propagation::kForeground}, stop);
  if (!removed && !removed.error().is_not_found() && !removed.error().is_conflict())
    return std::unexpected(failure_of(removed.error(), name));
  log::info("removed child", {{"child", name},
                              {"why", "to be made anew: " + write.recreation->why},
                              {"reconcile", std::string(reconcile_id)}});
  auto going = api.get(write.resource, ref, stop);
  if (going) return std::move(*going);
  if (going.error().is_not_found()) return Json();
  return std::unexpected(failure_of(going.error(), name));
}

bool is_workload(const Json& object) {
  return object["kind"] == "Deployment" || object["kind"] == "LeaderWorkerSet";
}

/// What pods mount, claim or are gated by. Without it they could not start, or would run what a stranger wrote.
bool is_needed_by_pods(const Json& object) {
  static constexpr std::array kKinds = {"ConfigMap", "PodGroup", "ResourceClaimTemplate", "ComputeDomain"};
  return std::ranges::find(kKinds, object["kind"]) != kKinds.end();
}

}  // namespace

const Json* Applied::workload() const {
  const auto found = std::ranges::find_if(written, [](const LiveChild& child) { return is_workload(*child.object); });
  return found == written.end() ? nullptr : found->object.get();
}

Applied apply(client::ApiClient& api, const Plan& plan, std::string_view owner_uid, std::string_view reconcile_id,
              std::stop_token stop) {
  Applied applied;
  bool pods_may_start = true;
  for (const Write& wanted : plan.writes) {
    if (is_workload(wanted.object) && !pods_may_start) continue;
    Outcome outcome = Json();  // null: the place is free, or what is there may be written over
    if (wanted.recreation) {
      outcome = remove_first(api, wanted, reconcile_id, stop);
      if (outcome) applied.recreated.push_back({describe(wanted.object), wanted.recreation->why});
    }
    if (outcome && outcome->is_null()) outcome = write(api, wanted, owner_uid, reconcile_id, stop);
    if (!outcome) {
      const Kind kind = outcome.error().kind;
      applied.failures.push_back(std::move(outcome.error()));
      if (kind == Kind::kTransient || kind == Kind::kEnding) return applied;
      if (is_needed_by_pods(wanted.object)) pods_may_start = false;
      continue;
    }
    applied.written.push_back({wanted.resource, std::make_shared<const Json>(std::move(*outcome))});
  }
  if (!applied.failures.empty()) return applied;
  for (const Removal& removal : plan.removals) {
    const std::string name = removal.resource.kind + " " + removal.ref.to_string();
    const auto removed = api.remove(removal.resource, removal.ref, {.uid = removal.uid}, stop);
    // Gone already, or replaced by another object of that name: either way ours is no more.
    if (!removed && !removed.error().is_not_found() && !removed.error().is_conflict()) {
      applied.failures.push_back(failure_of(removed.error(), name));
      continue;
    }
    log::info("removed child",
              {{"child", name}, {"why", "no longer rendered"}, {"reconcile", std::string(reconcile_id)}});
    applied.removed.push_back(name);
  }
  return applied;
}

}  // namespace inference::reconcilers
