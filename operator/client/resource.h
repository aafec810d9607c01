#pragma once

#include <compare>
#include <cstddef>
#include <expected>
#include <functional>
#include <string>
#include <string_view>

namespace inference::client {

/// A kind as the API server's URLs know it.
struct Resource {
  std::string group;  // empty for the core group
  std::string version;
  std::string plural;
  std::string kind;
  bool namespaced = true;

  /// `apps/v1`, or `v1` for the core group.
  [[nodiscard]] std::string api_version() const;
  /// `deployments.apps`, or `pods` for the core group: unique where plurals and kinds are not (two groups have a
  /// PodGroup).
  [[nodiscard]] std::string full_name() const;
  bool operator==(const Resource&) const = default;
};

/// Names one object of a known kind: the key of stores and work queues. `ns` is empty for cluster-scoped objects.
struct ObjectRef {
  std::string ns;
  std::string name;

  /// `ns/name`, or `name`.
  [[nodiscard]] std::string to_string() const;
  auto operator<=>(const ObjectRef&) const = default;
};

/// Path of an object or (with an empty name) a collection, percent-encoded:
/// `/apis/apps/v1/namespaces/NS/deployments/NAME/status`. An empty namespace of a namespaced kind means all namespaces
/// and is only valid without a name. Refuses names that would change which URL is meant (`.`, `..`, or containing `/`
/// or `%`, as the API server does); the error says which.
[[nodiscard]] std::expected<std::string, std::string> resource_path(const Resource& resource, const ObjectRef& ref,
                                                                    std::string_view subresource = {});

/// The kinds that we read or write.
namespace resources {
inline const Resource kInferenceDeployment{"inference-operator.dev", "v1alpha1", "inferencedeployments",
                                           "InferenceDeployment"};
inline const Resource kInferenceProfile{"inference-operator.dev", "v1alpha1", "inferenceprofiles", "InferenceProfile",
                                        false};
inline const Resource kDeployment{"apps", "v1", "deployments", "Deployment"};
inline const Resource kReplicaSet{"apps", "v1", "replicasets", "ReplicaSet"};
inline const Resource kStatefulSet{"apps", "v1", "statefulsets", "StatefulSet"};
inline const Resource kDaemonSet{"apps", "v1", "daemonsets", "DaemonSet"};
inline const Resource kControllerRevision{"apps", "v1", "controllerrevisions", "ControllerRevision"};
inline const Resource kLeaderWorkerSet{"leaderworkerset.x-k8s.io", "v1", "leaderworkersets", "LeaderWorkerSet"};
inline const Resource kPod{"", "v1", "pods", "Pod"};
inline const Resource kService{"", "v1", "services", "Service"};
inline const Resource kConfigMap{"", "v1", "configmaps", "ConfigMap"};
inline const Resource kServiceAccount{"", "v1", "serviceaccounts", "ServiceAccount"};
inline const Resource kNode{"", "v1", "nodes", "Node", false};
inline const Resource kNamespace{"", "v1", "namespaces", "Namespace", false};
inline const Resource kPodDisruptionBudget{"policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget"};
inline const Resource kHorizontalPodAutoscaler{"autoscaling", "v2", "horizontalpodautoscalers",
                                               "HorizontalPodAutoscaler"};
inline const Resource kPodGroup{"scheduling.k8s.io", "v1beta1", "podgroups", "PodGroup"};
inline const Resource kResourceClaim{"resource.k8s.io", "v1", "resourceclaims", "ResourceClaim"};
inline const Resource kResourceClaimTemplate{"resource.k8s.io", "v1", "resourceclaimtemplates",
                                             "ResourceClaimTemplate"};
inline const Resource kComputeDomain{"resource.nvidia.com", "v1beta1", "computedomains", "ComputeDomain"};
inline const Resource kVolcanoPodGroup{"scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup"};
inline const Resource kLocalQueue{"kueue.x-k8s.io", "v1beta2", "localqueues", "LocalQueue"};
inline const Resource kClusterQueue{"kueue.x-k8s.io", "v1beta2", "clusterqueues", "ClusterQueue", false};
inline const Resource kResourceFlavor{"kueue.x-k8s.io", "v1beta2", "resourceflavors", "ResourceFlavor", false};
inline const Resource kEvent{"events.k8s.io", "v1", "events", "Event"};
inline const Resource kLease{"coordination.k8s.io", "v1", "leases", "Lease"};
inline const Resource kCustomResourceDefinition{"apiextensions.k8s.io", "v1", "customresourcedefinitions",
                                                "CustomResourceDefinition", false};
inline const Resource kMutatingAdmissionPolicy{"admissionregistration.k8s.io", "v1", "mutatingadmissionpolicies",
                                               "MutatingAdmissionPolicy", false};
inline const Resource kMutatingAdmissionPolicyBinding{
    "admissionregistration.k8s.io", "v1", "mutatingadmissionpolicybindings", "MutatingAdmissionPolicyBinding", false};
}  // namespace resources

/// The kind above with this `apiVersion` and `kind`, null when there is none.
[[nodiscard]] const Resource* find_resource(std::string_view api_version, std::string_view kind);

}  // namespace inference::client

template <>
struct std::hash<inference::client::ObjectRef> {
  std::size_t operator()(const inference::client::ObjectRef& ref) const noexcept {
    const std::size_t first = std::hash<std::string>{}(ref.ns);
    return first ^ (std::hash<std::string>{}(ref.name) + 0x9e3779b97f4a7c15U + (first << 6U) + (first >> 2U));
  }
};
