#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "base/json.h"
#include "crd/field_error.h"
#include "crd/inference_deployment.h"

namespace inference::crd {

/// What we read of an object's metadata. Labels and annotations are left out on purpose: they belong to whoever set
/// them (Argo CD, Helm) and nothing of them may reach a child.
struct ObjectMeta {
  std::string name;
  std::string ns;  // empty for cluster-scoped kinds, and offline where the file names none
  std::string uid;
  std::string resource_version;
  std::int64_t generation = 0;
  bool deleting = false;  // has a deletionTimestamp
};

/// One InferenceDeployment as its user wrote it.
struct InferenceDeployment {
  ObjectMeta metadata;
  InferenceDeploymentSpec spec;
  Json spec_json;  // the same as JSON, without nulls: what is merged over the profile's defaults
};

/// Defaults of the platform team, taken where an InferenceDeployment says nothing. Has no model, parallelism, nodes,
/// replicas, autoscaling, gateway, profile or suspend: those belong to one model, and the API server could not check
/// the parallelism with half of it elsewhere.
struct InferenceProfile {
  ObjectMeta metadata;
  bool is_default = false;  // taken by objects that name no profile; several such profiles are refused at use
  InferenceDeploymentSpec defaults;
  Json defaults_json;  // an object, `{}` when absent
};

/// Where an object comes from. The status of one in the cluster is the operator's own and not looked at, since it may
/// be a newer operator's. In a file an unknown field of it is refused, as a strict API server does; its values are not
/// judged, for that server drops them.
enum class Source { kCluster, kFile };

/// Reads an object as strictly as the API server does with fieldValidation=Strict: the CRD's schema and the twins of
/// its CEL rules. All faults at once.
[[nodiscard]] std::expected<InferenceDeployment, FieldErrors> decode_inference_deployment(
    const Json& object, Source source = Source::kCluster);

/// The same for a profile, which has no status.
[[nodiscard]] std::expected<InferenceProfile, FieldErrors> decode_inference_profile(const Json& object,
                                                                                    Source source = Source::kCluster);

/// Checks and reads a spec that was merged from several levels, which may break a rule that each level kept. Same
/// rules, paths start with `spec.`; rules on the object's name are left out.
[[nodiscard]] std::expected<InferenceDeploymentSpec, FieldErrors> decode_spec(const Json& spec);

}  // namespace inference::crd
