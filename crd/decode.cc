#include "crd/decode.h"

#include <algorithm>
#include <iterator>

#include "base/json_members.h"
#include "crd/integer.h"
#include "crd/schema.h"
#include "crd/schema_validator.h"
#include "crd/wire_names.h"

namespace inference::crd {
namespace {

// The readers below take what the schema has found right; a value of another type would be a fault of the schema and
// reads as absent.

void read(const Json& object, const char* key, std::optional<std::string>& into) {
  if (const Json& value = member(object, key); value.is_string()) into = value.get<std::string>();
}

void read(const Json& object, const char* key, std::optional<std::int64_t>& into) {
  into = as_integer(member(object, key));
}

void read(const Json& object, const char* key, std::optional<bool>& into) {
  if (const Json& value = member(object, key); value.is_boolean()) into = value.get<bool>();
}

void read(const Json& object, const char* key, std::optional<IntOrPercent>& into) {
  const Json& value = member(object, key);
  if (const auto number = as_integer(value)) into = *number;
  if (value.is_string()) into = value.get<std::string>();
}

void read(const Json& object, const char* key, std::optional<std::vector<std::string>>& into) {
  if (const Json& value = member(object, key); value.is_array()) into = value.get<std::vector<std::string>>();
}

void read(const Json& object, const char* key, std::optional<std::vector<Json>>& into) {
  if (const Json& value = member(object, key); value.is_array()) into = value.get<std::vector<Json>>();
}

void read(const Json& object, const char* key, std::optional<std::vector<EnvVar>>& into) {
  const Json& value = member(object, key);
  if (!value.is_array()) return;
  into.emplace();
  for (const Json& item : value) {
    EnvVar variable{.name = item.at("name").get<std::string>(), .source = item};
    variable.source.erase("name");
    into->push_back(std::move(variable));
  }
}

template <typename Enum>
requires std::is_enum_v<Enum>
void read(const Json& object, const char* key, std::optional<Enum>& into) {
  const Json& value = member(object, key);
  for (const auto& [candidate, name] : wire_names(Enum{})) {
    if (value.is_string() && value.get_ref<const std::string&>() == name) into = candidate;
  }
}

// A part of the spec that may be absent as a whole: `fill` gets its object and the struct to fill.
template <typename Part, typename Fill>
void read(const Json& object, const char* key, std::optional<Part>& into, Fill fill) {
  if (const Json& value = member(object, key); value.is_object()) fill(value, into.emplace());
}

void fill(const Json& from, Model& into) {
  read(from, "uri", into.uri);
  read(from, "revision", into.revision);
  read(from, "servedName", into.served_name);
}
void fill(const Json& from, Parallelism& into) {
  read(from, "tensor", into.tensor);
  read(from, "pipeline", into.pipeline);
}
void fill(const Json& from, Engine& into) {
  read(from, "name", into.name);
  read(from, "image", into.image);
  read(from, "version", into.version);
  read(from, "args", into.args);
  read(from, "env", into.env);
}
void fill(const Json& from, Serving& into) {
  read(from, "maxModelLen", into.max_model_len);
  read(from, "maxNumSeqs", into.max_num_seqs);
  read(from, "maxNumBatchedTokens", into.max_num_batched_tokens);
  read(from, "gpuMemoryUtilization", into.gpu_memory_utilization);
  read(from, "kvCacheDtype", into.kv_cache_dtype);
  read(from, "prefixCaching", into.prefix_caching);
  read(from, "chunkedPrefill", into.chunked_prefill);
}
void fill(const Json& from, DeviceChoice& into) {
  read(from, "deviceClassName", into.device_class_name);
  read(from, "product", into.product);
  read(from, "memory", into.memory);
  read(from, "selectors", into.selectors);
}
void fill(const Json& from, Claim& into) {
  fill(from, into.first);
  if (const Json& choices = member(from, "alternatives"); choices.is_array()) {
    into.alternatives.emplace();
    for (const Json& choice : choices) fill(choice, into.alternatives->emplace_back());
  }
  read(from, "matchAttribute", into.match_attribute);
  read(from, "tolerations", into.tolerations);
}
void fill(const Json& from, Accelerator& into) {
  read(from, "product", into.product);
  read(from, "resourceName", into.resource_name);
  read(from, "mode", into.mode);
  read(from, "sharing", into.sharing);
  read(from, "mig", into.mig);
  read(from, "claim", into.claim, [](const Json& value, Claim& claim) { fill(value, claim); });
  read(from, "computeDomain", into.compute_domain);
  read(from, "tolerations", into.tolerations);
}
void fill(const Json& from, Resources& into) {
  read(from, "cpu", into.cpu);
  read(from, "memory", into.memory);
  read(from, "sharedMemory", into.shared_memory);
  read(from, "threads", into.threads);
}
void fill(const Json& from, Rdma& into) {
  read(from, "resourceName", into.resource_name);
  read(from, "count", into.count);
}
void fill(const Json& from, Network& into) {
  read(from, "rdma", into.rdma, [](const Json& value, Rdma& rdma) { fill(value, rdma); });
  read(from, "interfaces", into.interfaces);
  read(from, "env", into.env);
}
void fill(const Json& from, Cache& into) {
  read(from, "mode", into.mode);
  read(from, "root", into.root);
}
void fill(const Json& from, Startup& into) {
  read(from, "timeoutSeconds", into.timeout_seconds);
}
void fill(const Json& from, Drain& into) {
  read(from, "timeoutSeconds", into.timeout_seconds);
}
void fill(const Json& from, Rollout& into) {
  read(from, "maxSurge", into.max_surge);
  read(from, "maxUnavailable", into.max_unavailable);
  read(from, "progressDeadlineSeconds", into.progress_deadline_seconds);
}
void fill(const Json& from, Scheduling& into) {
  read(from, "gang", into.gang);
  read(from, "queue", into.queue);
  read(from, "priorityClassName", into.priority_class_name);
  read(from, "topologyKey", into.topology_key);
}
void fill(const Json& from, Disruption& into) {
  read(from, "maxUnavailable", into.max_unavailable);
}
void fill(const Json& from, Autoscaling& into) {
  read(from, "minReplicas", into.min_replicas);
  read(from, "maxReplicas", into.max_replicas);
}
void fill(const Json& from, Gateway& into) {
  read(from, "endpointPicker", into.endpoint_picker);
}

// A part that is always there, empty when absent.
template <typename Part>
void read_part(const Json& object, const char* key, Part& into) {
  if (const Json& value = member(object, key); value.is_object()) fill(value, into);
}

InferenceDeploymentSpec read_spec(const Json& from) {
  InferenceDeploymentSpec spec;
  read_part(from, "model", spec.model);
  read_part(from, "parallelism", spec.parallelism);
  read(from, "nodes", spec.nodes);
  read(from, "replicas", spec.replicas);
  if (const Json& reference = member(from, "profileRef"); reference.is_object())
    read(reference, "name", spec.profile_ref);
  read(from, "profilePolicy", spec.profile_policy);
  read_part(from, "engine", spec.engine);
  read_part(from, "serving", spec.serving);
  read_part(from, "accelerator", spec.accelerator);
  read_part(from, "resources", spec.resources);
  read_part(from, "network", spec.network);
  read_part(from, "cache", spec.cache);
  read_part(from, "startup", spec.startup);
  read_part(from, "drain", spec.drain);
  read_part(from, "rollout", spec.rollout);
  read_part(from, "scheduling", spec.scheduling);
  read(from, "topologyCheck", spec.topology_check);
  read(from, "autoscaling", spec.autoscaling, [](const Json& value, Autoscaling& part) { fill(value, part); });
  read_part(from, "disruption", spec.disruption);
  read(from, "gateway", spec.gateway, [](const Json& value, Gateway& part) { fill(value, part); });
  read(from, "suspend", spec.suspend);
  spec.pod_template = member(from, "podTemplate");
  return spec;
}

ObjectMeta read_metadata(const Json& object) {
  const Json& from = member(object, "metadata");
  const auto text = [&from](const char* key) {
    const Json& value = member(from, key);
    return value.is_string() ? value.get<std::string>() : std::string();
  };
  return {.name = text("name"),
          .ns = text("namespace"),
          .uid = text("uid"),
          .resource_version = text("resourceVersion"),
          .generation = as_integer(member(from, "generation")).value_or(0),
          .deleting = !text("deletionTimestamp").empty()};
}

// The rest of the pipeline walks a podTemplate by recursion. The API server has no such limit that a CRD could state; a
// real pod is 10 deep.
constexpr int kDeepestPodTemplate = 64;

bool is_deeper_than(const Json& value, int levels) {
  if (!value.is_structured()) return false;
  if (levels == 0) return true;
  for (const Json& child : value) {
    if (is_deeper_than(child, levels - 1)) return true;
  }
  return false;
}

void check_depth(const Json& spec, const std::string& path, FieldErrors& errors) {
  if (!spec.is_object() || !is_deeper_than(member(spec, "podTemplate"), kDeepestPodTemplate)) return;
  errors.push_back(
      {path + ".podTemplate", "must not be nested more than " + std::to_string(kDeepestPodTemplate) + " levels deep"});
}

void check_is(const Json& object, const char* key, const std::string& expected, FieldErrors& errors) {
  if (!object.is_object() || member(object, key) == expected) return;
  errors.insert(errors.begin(), {key, "must be " + expected});
}

FieldErrors check_object(const Json& object, const Schema& schema, const char* kind) {
  FieldErrors errors = validate(schema, object, "");
  // Wrong or absent, it is one fault of its own; the schema's word on it would be a second.
  std::erase_if(errors, [](const FieldError& error) { return error.path == "kind" || error.path == "apiVersion"; });
  check_is(object, "kind", kind, errors);
  check_is(object, "apiVersion", kApiVersion, errors);
  return errors;
}

}  // namespace

std::expected<InferenceDeployment, FieldErrors> decode_inference_deployment(const Json& object, Source source) {
  FieldErrors errors = check_object(object, inference_deployment_schema(), kInferenceDeploymentKind);
  if (object.is_object() && source == Source::kFile) {
    const Json& status = member(object, "status");
    std::ranges::move(unknown_fields(inference_deployment_status_schema(), status, "status"),
                      std::back_inserter(errors));
  }
  if (object.is_object()) check_depth(member(object, "spec"), "spec", errors);
  if (!errors.empty()) return std::unexpected(std::move(errors));
  Json spec = member(object, "spec");
  drop_nulls(*inference_deployment_schema().property("spec"), spec);
  InferenceDeploymentSpec decoded = read_spec(spec);
  return InferenceDeployment{
      .metadata = read_metadata(object), .spec = std::move(decoded), .spec_json = std::move(spec)};
}

std::expected<InferenceProfile, FieldErrors> decode_inference_profile(const Json& object, Source source) {
  FieldErrors errors = check_object(object, inference_profile_schema(), kInferenceProfileKind);
  if (object.is_object() && source == Source::kFile && object.contains("status"))
    errors.push_back({"status", "unknown field: an InferenceProfile has no status"});
  const Json& spec = object.is_object() ? member(object, "spec") : object;
  if (spec.is_object()) check_depth(member(spec, "defaults"), "spec.defaults", errors);
  if (!errors.empty()) return std::unexpected(std::move(errors));
  Json defaults = member(spec, "defaults");
  drop_nulls(*inference_profile_schema().property("spec")->property("defaults"), defaults);
  InferenceProfile profile{.metadata = read_metadata(object),
                           .is_default = member(spec, "default") == true,
                           .defaults = {},
                           .defaults_json = Json::object()};
  if (defaults.is_object()) {
    profile.defaults = read_spec(defaults);
    profile.defaults_json = std::move(defaults);
  }
  return profile;
}

std::expected<InferenceDeploymentSpec, FieldErrors> decode_spec(const Json& spec) {
  FieldErrors errors = validate(*inference_deployment_schema().property("spec"), spec, "spec");
  check_depth(spec, "spec", errors);
  if (!errors.empty()) return std::unexpected(std::move(errors));
  return read_spec(spec);
}

}  // namespace inference::crd
