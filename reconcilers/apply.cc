#include "reconcilers/apply.h"

#include <algorithm>

#include "base/logging.h"
#include "operator/runtime/object_meta.h"
#include "reconcilers/children.h"

namespace inference::reconcilers {
namespace {

using Outcome = std::expected<std::optional<Json>, client::ApiError>;  // nothing: it was as it should be already

/// The error that stands for "an object of this name is there and is not ours".
client::ApiError foreign(const Json& live) {
  std::string owner = "nobody controls it";
  for (const Json& reference : live.value("/metadata/ownerReferences"_json_pointer, Json::array())) {
    if (reference.value("controller", false))
      owner = reference.value("kind", "") + " " + reference.value("name", "") + " controls it";
  }
  return {.kind = client::ApiError::Kind::kStatus, .code = 409, .reason = "Conflict", .message = owner};
}

/// Writes one child. What the cache does not show may still exist: another's object, or ours that the cache has not
/// heard of yet.
Outcome write(client::ApiClient& api, const Write& write, std::string_view owner_uid, std::stop_token stop) {
  client::Force force = client::Force::kYes;
  if (!write.cached) {
    const auto live = api.get(write.resource, runtime::ref_of(write.object), stop);
    if (live && !is_controlled_by(*live, owner_uid)) return std::unexpected(foreign(*live));
    if (live && !reason_to_write(*live, write.object)) return *live;
    if (!live && !live.error().is_not_found()) return std::unexpected(live.error());
    // Without force the server itself refuses if someone creates a different object between our look and our write.
    if (!live) force = client::Force::kNo;
  }
  auto answer = api.apply(write.resource, write.object, {.force = force}, stop);
  if (!answer) return std::unexpected(answer.error());
  return std::move(*answer);
}

/// Whether the API server takes no new objects because the namespace is being deleted (cause NamespaceTerminating of
/// the admission plugin NamespaceLifecycle).
bool is_ending(const client::ApiError& error) {
  if (!error.is_forbidden() || !error.details.is_object()) return false;
  return std::ranges::any_of(error.details.value("causes", Json::array()),
                             [](const Json& cause) { return cause.value("reason", "") == "NamespaceTerminating"; });
}

bool is_workload(const Json& object) {
  return object["kind"] == "Deployment" || object["kind"] == "LeaderWorkerSet";
}

}  // namespace

ApplyFailure classify(const client::ApiError& error, std::string object) {
  using Kind = ApplyFailure::Kind;
  Kind kind = Kind::kTransient;
  if (is_ending(error)) {
    kind = Kind::kEnding;
  } else if (error.is_conflict()) {
    kind = Kind::kConflict;
  } else if (error.is_invalid()) {
    kind = Kind::kInvalid;
  } else if (error.is_forbidden()) {
    kind = Kind::kForbidden;
  }
  return {kind, std::move(object), error.message.empty() ? error.to_string() : error.message};
}

Applied apply(client::ApiClient& api, const Plan& plan, std::string_view owner_uid, std::string_view reconcile_id,
              std::stop_token stop) {
  Applied applied;
  for (const Write& wanted : plan.writes) {
    auto outcome = write(api, wanted, owner_uid, stop);
    if (!outcome) {
      applied.failures.push_back(classify(outcome.error(), describe(wanted.object)));
      if (outcome.error().retry_after) applied.retry_after = *outcome.error().retry_after;
      using Kind = ApplyFailure::Kind;
      if (const Kind kind = applied.failures.back().kind; kind == Kind::kTransient || kind == Kind::kEnding)
        return applied;
      continue;
    }
    log::info("applied child",
              {{"child", describe(wanted.object)}, {"why", wanted.why}, {"reconcile", std::string(reconcile_id)}});
    if (*outcome && is_workload(wanted.object)) applied.workload = std::move(**outcome);
  }
  if (!applied.failures.empty()) return applied;
  for (const Removal& removal : plan.removals) {
    const std::string name = removal.resource.kind + " " + removal.ref.to_string();
    const auto removed = api.remove(removal.resource, removal.ref, {.uid = removal.uid}, stop);
    // Gone already, or replaced by another object of that name: either way ours is no more.
    if (!removed && !removed.error().is_not_found() && !removed.error().is_conflict()) {
      applied.failures.push_back(classify(removed.error(), name));
      continue;
    }
    log::info("removed child",
              {{"child", name}, {"why", "no longer rendered"}, {"reconcile", std::string(reconcile_id)}});
    applied.removed.push_back(name);
  }
  return applied;
}

}  // namespace inference::reconcilers
