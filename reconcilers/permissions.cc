#include "reconcilers/permissions.h"

#include <initializer_list>

#include "operator/client/resource.h"
#include "operator/runtime/leader_elector.h"
#include "reconcilers/children.h"
#include "reconcilers/cluster_facts.h"

namespace inference::reconcilers {

std::set<Permission> required_permissions() {
  using namespace client::resources;
  std::set<Permission> all;
  const auto add = [&all](const client::Resource& resource, std::initializer_list<const char*> verbs,
                          const std::string& subresource = {}, const std::string& name = {}) {
    for (const char* verb : verbs) all.insert({resource.group, resource.plural + subresource, verb, name});
  };
  add(kInferenceDeployment, {"list", "watch"});
  add(kInferenceProfile, {"list", "watch"});
  add(kInferenceDeployment, {"patch"}, "/status");
  // blockOwnerDeletion on the children's owner references (admission plugin OwnerReferencesPermissionEnforcement).
  add(kInferenceDeployment, {"update"}, "/finalizers");
  for (const auto& kind : child_kinds()) add(kind, {"get", "list", "watch", "create", "patch", "delete"});
  // What was allocated to the claims that Kubernetes makes from our templates.
  add(kResourceClaim, {"list", "watch"});
  // Groups held by our scheduling gates: their pods are released, a split group's leader is deleted, and nodes and all
  // pods tell what is free.
  add(kPod, {"list", "watch", "patch", "delete"});
  add(kNode, {"list", "watch"});
  add(kMutatingAdmissionPolicy, {"get"}, {}, kGangPolicyName);
  add(kMutatingAdmissionPolicyBinding, {"get"}, {}, kGangPolicyName);
  // What is said of a queue that a model waits in.
  for (const auto& kind : {kLocalQueue, kClusterQueue, kResourceFlavor}) add(kind, {"get"});
  add(kEvent, {"create", "patch"});
  return all;
}

std::set<Permission> required_election_permissions() {
  const client::Resource& lease = client::resources::kLease;
  return {{lease.group, lease.plural, "create", ""},
          {lease.group, lease.plural, "get", runtime::kDefaultLease},
          {lease.group, lease.plural, "patch", runtime::kDefaultLease}};
}

std::set<Permission> required_probe_permissions() {
  return {{client::resources::kPod.group, client::resources::kPod.plural, "create", ""}};
}

}  // namespace inference::reconcilers
