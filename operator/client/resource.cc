#include "operator/client/resource.h"

#include <array>

#include "operator/client/percent_encoding.h"

namespace inference::client {

namespace {

// The API server refuses these in names for the same reason (ValidatePathSegmentName in apimachinery): they would name
// another URL.
std::expected<void, std::string> check_segment(std::string_view what, std::string_view segment) {
  if (segment == "." || segment == ".." || segment.find_first_of("/%") != std::string_view::npos) {
    return std::unexpected(std::string(what) + " '" + percent_encode(segment) + "' can't be part of a URL");
  }
  return {};
}

}  // namespace

std::string Resource::api_version() const {
  return group.empty() ? version : group + "/" + version;
}

std::string Resource::full_name() const {
  return group.empty() ? plural : plural + "." + group;
}

std::string ObjectRef::to_string() const {
  return ns.empty() ? name : ns + "/" + name;
}

std::expected<std::string, std::string> resource_path(const Resource& resource, const ObjectRef& ref,
                                                      std::string_view subresource) {
  if (auto ok = check_segment("namespace", ref.ns); !ok) return std::unexpected(ok.error());
  if (auto ok = check_segment("name", ref.name); !ok) return std::unexpected(ok.error());
  if (!resource.namespaced && !ref.ns.empty()) {
    return std::unexpected(resource.full_name() + " are cluster-scoped, but a namespace is given");
  }
  if (resource.namespaced && ref.ns.empty() && !ref.name.empty()) {
    return std::unexpected(resource.full_name() + " '" + percent_encode(ref.name) + "' needs a namespace");
  }
  if (ref.name.empty() && !subresource.empty()) return std::unexpected("a subresource needs a name");
  std::string path = resource.group.empty() ? "/api/" + resource.version
                                            : "/apis/" + percent_encode(resource.group) + "/" + resource.version;
  if (!ref.ns.empty()) path += "/namespaces/" + percent_encode(ref.ns);
  path += "/" + percent_encode(resource.plural);
  if (!ref.name.empty()) path += "/" + percent_encode(ref.name);
  if (!subresource.empty()) path += "/" + percent_encode(subresource);
  return path;
}

const Resource* find_resource(std::string_view api_version, std::string_view kind) {
  using namespace resources;
  static const std::array<const Resource*, 29> kAll = {&kInferenceDeployment,
                                                       &kInferenceProfile,
                                                       &kDeployment,
                                                       &kReplicaSet,
                                                       &kStatefulSet,
                                                       &kDaemonSet,
                                                       &kControllerRevision,
                                                       &kLeaderWorkerSet,
                                                       &kPod,
                                                       &kService,
                                                       &kConfigMap,
                                                       &kServiceAccount,
                                                       &kNode,
                                                       &kNamespace,
                                                       &kPodDisruptionBudget,
                                                       &kHorizontalPodAutoscaler,
                                                       &kPodGroup,
                                                       &kVolcanoPodGroup,
                                                       &kLocalQueue,
                                                       &kClusterQueue,
                                                       &kResourceFlavor,
                                                       &kResourceClaim,
                                                       &kResourceClaimTemplate,
                                                       &kComputeDomain,
                                                       &kEvent,
                                                       &kLease,
                                                       &kCustomResourceDefinition,
                                                       &kMutatingAdmissionPolicy,
                                                       &kMutatingAdmissionPolicyBinding};
  for (const Resource* resource : kAll) {
    if (resource->kind == kind && resource->api_version() == api_version) return resource;
  }
  return nullptr;
}

}  // namespace inference::client
