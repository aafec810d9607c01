#include "render/decide/support.h"

#include <string>

namespace inference::render {

namespace {

constexpr const char* kReason = "NotSupported";

}  // namespace

void check_support(const Settings& settings, Findings& findings) {
  if (settings.cache_mode.value == crd::CacheMode::kNode) {
    findings.refuse(kReason, settings.cache_mode.path,
                    "the node cache is not there yet; put the model on the nodes and use file:///FOLDER/MODEL, or into "
                    "a claim and use pvc://CLAIM/PATH");
  } else if (settings.cache_root) {
    findings.notice("CacheRootNotUsed", settings.cache_root->path,
                    "there is no node cache; model.uri names the folder");
  }
  if (settings.autoscaling) {
    findings.refuse(kReason, "spec.autoscaling",
                    "no autoscaler is rendered yet; let a HorizontalPodAutoscaler or KEDA target this object, whose "
                    "scale subresource it may write");
  }
  if (settings.gateway) {
    findings.refuse(kReason, "spec.gateway", "no InferencePool is rendered yet; route to the Service");
  }
  if (settings.topology_key) {
    findings.refuse(kReason, settings.topology_key->path,
                    "is not rendered yet; use podTemplate with a nodeSelector or an affinity");
  }
  if (settings.profile_policy && settings.profile_policy->value == crd::ProfilePolicy::kPinned) {
    findings.notice("ProfileNotPinned", settings.profile_policy->path,
                    "profiles are not pinned yet: a change of the profile reaches this object at once");
  }
}

}  // namespace inference::render
