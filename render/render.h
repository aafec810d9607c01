#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "crd/field_error.h"
#include "crd/inference_deployment.h"
#include "crd/pod_types.h"

namespace inference::crd {
struct InferenceDeployment;
struct InferenceProfile;
}  // namespace inference::crd

namespace inference::render {

class TemplateSet;
class Explanations;

/// The queue of Kueue that a spec names.
struct QueueFacts {
  bool exists = false;  // a LocalQueue of that name in the model's namespace
  std::string fault;    // why it admits nothing; empty: no such reason is known
  /// What its ClusterQueue covers: each resource with those of its flavors that have no topology, for which Kueue
  /// counts quota and no nodes. Not known: nothing is said of it.
  std::optional<std::map<std::string, std::vector<std::string>>> covered;
  friend bool operator==(const QueueFacts&, const QueueFacts&) = default;
};

/// Who gives the pods of a group one PodGroup of Volcano. Without anybody Volcano makes one for each pod's owner, and
/// groups deadlock.
enum class VolcanoGroups {
  kAbsent,   // Volcano's PodGroups are not served
  kUnknown,  // could not be found out
  kNobody,
  kLeaderWorkerSet,  // by its scheduler provider
  kOperator,         // we, with the admission policy of config/gang
};

/// "LeaderWorkerSet" and "Operator" of those that hold groups, as status.resolved.podGroups keeps them; empty for the
/// others.
[[nodiscard]] std::string to_string(VolcanoGroups groups);

/// What the cluster serves, as far as it changes what is rendered. Found out by the reconcilers from discovery, given
/// to the CLI by flags.
struct ClusterFacts {
  bool leader_worker_set = false;  // leaderworkerset.x-k8s.io/v1
  /// scheduling.k8s.io/v1beta1 PodGroup is served (which the API server only does when it keeps a pod's
  /// schedulingGroup) and the admission policy of config/gang is installed: either missing and pods are scheduled one
  /// by one without a word.
  bool native_gang = false;
  VolcanoGroups volcano = VolcanoGroups::kAbsent;
  std::string volcano_fault = {};                  // why it is kUnknown
  bool kueue = false;                              // kueue.x-k8s.io/v1beta2 LocalQueue
  std::optional<QueueFacts> queue = std::nullopt;  // Kueue's, by the name that the spec gives; absent: not asked for
  bool dra = false;                                // resource.k8s.io/v1
  bool compute_domain = false;                     // resource.nvidia.com/v1beta1 ComputeDomain
  /// There is no cluster to ask: LeaderWorkerSets, claims, and a gang that the spec asks for by name, are taken as
  /// served. `Auto` still goes by the above.
  bool offline = false;
  friend bool operator==(const ClusterFacts&, const ClusterFacts&) = default;
};

/// Everything that decides what is rendered; nothing else is read. The deployment's labels and annotations are never
/// looked at.
struct Input {
  const crd::InferenceDeployment& deployment;
  const crd::InferenceProfile* profile = nullptr;  // null: none applies
  ClusterFacts cluster;
  /// status.resolved.gang of a living object: `Auto` keeps it, since changing the gang of a running group recreates it.
  std::optional<crd::Gang> recorded_gang;
  /// status.resolved.podGroups of one with Volcano's gang: kept for the same reason.
  std::optional<VolcanoGroups> recorded_groups = std::nullopt;
  /// Of podTemplate's pods, by the Kubernetes that crd/pod_types.yaml knows.
  crd::UnknownFields unknown_pod_fields = crd::UnknownFields::kPass;
};

/// Why nothing is rendered. What runs already stays as it is.
struct Refusal {
  std::string reason;       // a condition's reason: InvalidSpec, NotAllowed, NotSupported, NameTooLong, QueueMissing,
                            // SchedulerMissing, ClusterLacksLeaderWorkerSet, ClusterLacksGang,
                            // ClusterLacksDRA, ClusterLacksComputeDomain
  crd::FieldErrors errors;  // all of them, never empty
};

/// What a user should know although nothing is refused: NotAGang, BestEffortGang, QuotaIsNoGang, OutageOnRollout,
/// NoDisruptionBudget, UnknownEngineVersion …
struct Notice {
  std::string reason;  // CamelCase
  std::string path;    // of the field that it follows from
  std::string message;
  friend bool operator==(const Notice&, const Notice&) = default;
};

/// Notice::reason where a pod asks for more GPUs than most nodes have, since pipeline was left to its default.
inline constexpr const char* kTensorOverNodes = "TensorOverNodes";

/// All objects of one InferenceDeployment, and what to say about them.
struct Rendered {
  /// In the order in which they are applied. Without owner references: those need a uid, which the caller has.
  std::vector<Json> objects;
  /// status.resolved: the effective spec, computed values included, and `gang`.
  Json resolved;
  std::vector<Notice> notices;
  /// Label selector of the pods that count as replicas (`a=b,c=d`): status.selector of the scale subresource. Leaders
  /// only where there are groups.
  std::string selector;
  std::int64_t replicas = 0;  // wanted replicas (groups); 0 when suspended
  std::int64_t nodes = 1;     // pods a replica
};

/// The complete set of objects for `input`. Pure and deterministic: equal input gives equal bytes; thread-safe.
/// `explain`, when not null, learns the origin of every rendered leaf.
[[nodiscard]] std::expected<Rendered, Refusal> render(const Input& input, const TemplateSet& templates,
                                                      Explanations* explain = nullptr);

}  // namespace inference::render
