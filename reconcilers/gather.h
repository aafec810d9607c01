#pragma once

#include <expected>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "crd/decode.h"
#include "operator/client/resource.h"
#include "operator/runtime/store.h"
#include "reconcilers/gates/board.h"
#include "reconcilers/gates/pauses.h"
#include "reconcilers/group_restarts.h"
#include "reconcilers/own_writes.h"
#include "render/render.h"

namespace inference::reconcilers {

/// The caches that reconciling reads. Each informer that fills one has the index `owner` (runtime::index_by_owner_uid)
/// where it holds children.
struct Caches {
  runtime::Lister deployments;  // InferenceDeployments
  runtime::Lister profiles;
  std::vector<std::pair<client::Resource, runtime::Lister>> children;  // one for each of child_kinds()
  runtime::Lister pods;                                                // index kPodOwnerIndex
  std::optional<runtime::Lister> claims = std::nullopt;  // ResourceClaims, index kPodOwnerIndex; none: nobody asks
  std::shared_ptr<const gates::Board> gates = nullptr;   // null: no group waits behind gates
  std::shared_ptr<gates::Pauses> pauses = nullptr;       // where those of groups that fail are told

  /// That of a kind of child_kinds().
  [[nodiscard]] const runtime::Lister& of(const client::Resource& child) const;
};

/// Index of pods, and of their claims, by `namespace/name` of the InferenceDeployment in their label: they are owned by
/// ReplicaSets, StatefulSets and pods, not by us.
inline constexpr const char* kPodOwnerIndex = "inferencedeployment";
[[nodiscard]] runtime::Index index_pods();

/// The InferenceDeployment that a pod's label names; nothing when it has none.
[[nodiscard]] std::vector<client::ObjectRef> owner_of_pod(const Json& pod);

/// One child as the cache shows it.
struct LiveChild {
  client::Resource resource;
  Object object;
};

/// Everything about one InferenceDeployment that the caches hold and we have written, read once: deciding and writing
/// follow from this alone.
struct Observed {
  Object object;                                                        // as it stands in the API server
  std::expected<crd::InferenceDeployment, render::Refusal> deployment;  // decoded, or why it can't be
  std::expected<std::optional<crd::InferenceProfile>, render::Refusal> profile;
  std::vector<LiveChild> children;  // controlled by this very object
  std::vector<Object> pods;
  std::vector<Object> claims = {};                     // of its pods
  std::optional<gates::Waiting> gated = std::nullopt;  // its group that waits longest behind our scheduling gates
  std::optional<GroupRestarts> groups = std::nullopt;  // while there is a LeaderWorkerSet

  [[nodiscard]] const Json* status() const;
};

/// Null when the object is gone or on its way out: the garbage collector then takes the children.
[[nodiscard]] std::optional<Observed> gather(const Caches& caches, OwnWrites& own, const client::ObjectRef& ref);

/// The profile that applies: the one that is named, else the only one marked as default, else none.
[[nodiscard]] std::expected<std::optional<crd::InferenceProfile>, render::Refusal> choose_profile(
    const std::optional<std::string>& named, const runtime::Lister& profiles);

}  // namespace inference::reconcilers
