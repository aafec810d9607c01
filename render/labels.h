#pragma once

/// Labels and annotations that rendered objects carry: all ours, none copied from the parent (a
/// tracking label of Argo CD on a child makes Argo prune it).
namespace inference::render {

inline constexpr const char* kManagedByLabel = "app.kubernetes.io/managed-by";
inline constexpr const char* kManagedByValue = "inference-operator";
inline constexpr const char* kAppNameLabel = "app.kubernetes.io/name";
inline constexpr const char* kAppNameValue = "inference-server";
inline constexpr const char* kComponentLabel = "app.kubernetes.io/component";
/// Name of the InferenceDeployment that an object or pod belongs to: the identity that selectors use.
inline constexpr const char* kNameLabel = "inference-operator.dev/name";
/// On the pods of a group: `native` and `volcano`, which the admission policies of config/gang select, or `gates`.
inline constexpr const char* kGangLabel = "inference-operator.dev/gang";
inline constexpr const char* kGangLabelGates = "gates";
inline constexpr const char* kGangLabelVolcano = "volcano";
/// The scheduling gate that holds the pods of a group until all of them fit.
inline constexpr const char* kGangGate = "inference-operator.dev/gang";
/// By which Kueue takes a workload into a LocalQueue: on the workload object and never on its pods, which Kueue marks
/// itself.
inline constexpr const char* kKueueQueueLabel = "kueue.x-k8s.io/queue-name";
/// Of the scheduling gates by which Kueue holds pods: `admission`, and `topology` where it also chooses the nodes.
inline constexpr const char* kKueueGatePrefix = "kueue.x-k8s.io/";
/// SHA-256 over all templates, on objects' own metadata only: on a pod template it would restart every pod at each
/// release.
inline constexpr const char* kTemplatesAnnotation = "inference-operator.dev/templates";

inline constexpr const char* kLwsNameLabel = "leaderworkerset.sigs.k8s.io/name";
inline constexpr const char* kLwsWorkerIndexLabel = "leaderworkerset.sigs.k8s.io/worker-index";
inline constexpr const char* kLwsGroupIndexLabel = "leaderworkerset.sigs.k8s.io/group-index";
inline constexpr const char* kLwsRevisionLabel = "leaderworkerset.sigs.k8s.io/template-revision-hash";
inline constexpr const char* kLwsSizeAnnotation = "leaderworkerset.sigs.k8s.io/size";

}  // namespace inference::render
