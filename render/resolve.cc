#include "render/resolve.h"

#include <stdexcept>
#include <type_traits>

#include "crd/wire_names.h"

namespace inference::render {

namespace {

using Spec = crd::InferenceDeploymentSpec;

/// A default of defaults.yaml as the type of its field. A default of another type is a fault of the file, which lint
/// and the tests find.
template <typename T>
T from_json(const Json& json) {
  if constexpr (std::is_enum_v<T>) {
    for (const auto& name : crd::wire_names(T{})) {
      if (json == name.name) return name.value;
    }
    throw std::logic_error("defaults.yaml: no such value: " + json.dump());
  } else if constexpr (std::is_same_v<T, crd::IntOrPercent>) {
    if (json.is_string()) return json.get<std::string>();
    return json.get<std::int64_t>();
  } else {
    return json.get<T>();
  }
}

/// Finds each field on the highest level that has it.
class Levels {
 public:
  Levels(const Spec& spec, const crd::InferenceProfile* profile, const Knowledge& knowledge)
      : spec_(spec), profile_(profile), knowledge_(knowledge) {}

  template <typename T>
  MaybeSetting<T> pick(const std::optional<T>& asked, const std::optional<T>* of_profile, std::string_view path) const {
    if (asked)
      return Setting<T>{
          .value = *asked, .level = Level::kSpec, .path = std::string(path), .said = "requested", .source = {}};
    if (of_profile != nullptr && *of_profile) return from_profile(**of_profile, path);
    if constexpr (kHasBuiltIn<T>) {
      const auto fact = knowledge_.built_in.find(path);
      if (fact != knowledge_.built_in.end()) {
        return Setting<T>{.value = from_json<T>(fact->second.value),
                          .level = Level::kBuiltIn,
                          .path = std::string(path),
                          .said = fact->second.why,
                          .source = fact->second.source};
      }
    }
    return std::nullopt;
  }
  template <typename T>
  MaybeSetting<T> get(std::optional<T> Spec::*field, std::string_view path) const {
    return pick(spec_.*field, profile_ == nullptr ? nullptr : &(profile_->defaults.*field), path);
  }
  template <typename Section, typename T>
  MaybeSetting<T> get(Section Spec::*section, std::optional<T> Section::*field, std::string_view path) const {
    return pick((spec_.*section).*field, profile_ == nullptr ? nullptr : &((profile_->defaults.*section).*field), path);
  }

  std::vector<Setting<Json>> pod_templates() const {
    std::vector<Setting<Json>> patches;
    if (profile_ != nullptr && profile_->defaults.pod_template.is_object()) {
      patches.push_back(from_profile(profile_->defaults.pod_template, "spec.podTemplate"));
    }
    if (spec_.pod_template.is_object()) {
      patches.push_back({.value = spec_.pod_template,
                         .level = Level::kSpec,
                         .path = "spec.podTemplate",
                         .said = "requested",
                         .source = {}});
    }
    return patches;
  }

 private:
  // Lists and nested objects have no built-in default: nothing sensible holds for every cluster.
  template <typename T>
  static constexpr bool kHasBuiltIn = std::is_enum_v<T> || std::is_same_v<T, std::int64_t> || std::is_same_v<T, bool> ||
                                      std::is_same_v<T, std::string> || std::is_same_v<T, crd::IntOrPercent>;

  template <typename T>
  Setting<T> from_profile(const T& value, std::string_view path) const {
    return {.value = value,
            .level = Level::kProfile,
            .path = std::string(path),
            .said = "default of profile " + profile_->metadata.name,
            .source = {}};
  }

  const Spec& spec_;
  const crd::InferenceProfile* profile_;
  const Knowledge& knowledge_;
};

/// A field that defaults.yaml always has: without it the file is broken, which the tests find.
template <typename T>
Setting<T> always(MaybeSetting<T> setting) {
  if (!setting) throw std::logic_error("defaults.yaml lacks a default");
  return *std::move(setting);
}

}  // namespace

Settings resolve(const Spec& spec, const crd::InferenceProfile* profile, const Knowledge& knowledge) {
  using namespace crd;
  const Levels levels(spec, profile, knowledge);
  return {
      .model_uri = levels.get(&Spec::model, &Model::uri, "spec.model.uri"),
      .model_revision = levels.get(&Spec::model, &Model::revision, "spec.model.revision"),
      .served_name = levels.get(&Spec::model, &Model::served_name, "spec.model.servedName"),
      .tensor = always(levels.get(&Spec::parallelism, &Parallelism::tensor, "spec.parallelism.tensor")),
      .nodes = always(levels.get(&Spec::nodes, "spec.nodes")),
      .replicas = always(levels.get(&Spec::replicas, "spec.replicas")),
      .pipeline = levels.get(&Spec::parallelism, &Parallelism::pipeline, "spec.parallelism.pipeline"),
      .suspend = always(levels.get(&Spec::suspend, "spec.suspend")),
      .profile_policy = levels.get(&Spec::profile_policy, "spec.profilePolicy"),
      .engine_name = always(levels.get(&Spec::engine, &Engine::name, "spec.engine.name")),
      .image = levels.get(&Spec::engine, &Engine::image, "spec.engine.image"),
      .engine_version = levels.get(&Spec::engine, &Engine::version, "spec.engine.version"),
      .args = levels.get(&Spec::engine, &Engine::args, "spec.engine.args"),
      .engine_env = levels.get(&Spec::engine, &Engine::env, "spec.engine.env"),
      .network_env = levels.get(&Spec::network, &Network::env, "spec.network.env"),
      .max_model_len = levels.get(&Spec::serving, &Serving::max_model_len, "spec.serving.maxModelLen"),
      .max_num_seqs = levels.get(&Spec::serving, &Serving::max_num_seqs, "spec.serving.maxNumSeqs"),
      .max_num_batched_tokens =
          levels.get(&Spec::serving, &Serving::max_num_batched_tokens, "spec.serving.maxNumBatchedTokens"),
      .gpu_memory_utilization =
          levels.get(&Spec::serving, &Serving::gpu_memory_utilization, "spec.serving.gpuMemoryUtilization"),
      .kv_cache_dtype = levels.get(&Spec::serving, &Serving::kv_cache_dtype, "spec.serving.kvCacheDtype"),
      .prefix_caching = levels.get(&Spec::serving, &Serving::prefix_caching, "spec.serving.prefixCaching"),
      .chunked_prefill = levels.get(&Spec::serving, &Serving::chunked_prefill, "spec.serving.chunkedPrefill"),
      .product = levels.get(&Spec::accelerator, &Accelerator::product, "spec.accelerator.product"),
      .mig = levels.get(&Spec::accelerator, &Accelerator::mig, "spec.accelerator.mig"),
      .resource_name =
          always(levels.get(&Spec::accelerator, &Accelerator::resource_name, "spec.accelerator.resourceName")),
      .accelerator_mode = always(levels.get(&Spec::accelerator, &Accelerator::mode, "spec.accelerator.mode")),
      .sharing = always(levels.get(&Spec::accelerator, &Accelerator::sharing, "spec.accelerator.sharing")),
      .claim = levels.get(&Spec::accelerator, &Accelerator::claim, "spec.accelerator.claim"),
      .compute_domain = levels.get(&Spec::accelerator, &Accelerator::compute_domain, "spec.accelerator.computeDomain"),
      .tolerations = levels.get(&Spec::accelerator, &Accelerator::tolerations, "spec.accelerator.tolerations"),
      .cpu = levels.get(&Spec::resources, &Resources::cpu, "spec.resources.cpu"),
      .threads = levels.get(&Spec::resources, &Resources::threads, "spec.resources.threads"),
      .memory = levels.get(&Spec::resources, &Resources::memory, "spec.resources.memory"),
      .shared_memory = levels.get(&Spec::resources, &Resources::shared_memory, "spec.resources.sharedMemory"),
      .rdma = levels.get(&Spec::network, &Network::rdma, "spec.network.rdma"),
      .interfaces = levels.get(&Spec::network, &Network::interfaces, "spec.network.interfaces"),
      .cache_mode = always(levels.get(&Spec::cache, &Cache::mode, "spec.cache.mode")),
      .cache_root = levels.get(&Spec::cache, &Cache::root, "spec.cache.root"),
      .startup_timeout = always(levels.get(&Spec::startup, &Startup::timeout_seconds, "spec.startup.timeoutSeconds")),
      .drain_timeout = always(levels.get(&Spec::drain, &Drain::timeout_seconds, "spec.drain.timeoutSeconds")),
      .max_surge = always(levels.get(&Spec::rollout, &Rollout::max_surge, "spec.rollout.maxSurge")),
      .max_unavailable = always(levels.get(&Spec::rollout, &Rollout::max_unavailable, "spec.rollout.maxUnavailable")),
      .progress_deadline =
          levels.get(&Spec::rollout, &Rollout::progress_deadline_seconds, "spec.rollout.progressDeadlineSeconds"),
      .gang = always(levels.get(&Spec::scheduling, &Scheduling::gang, "spec.scheduling.gang")),
      .queue = levels.get(&Spec::scheduling, &Scheduling::queue, "spec.scheduling.queue"),
      .priority_class =
          levels.get(&Spec::scheduling, &Scheduling::priority_class_name, "spec.scheduling.priorityClassName"),
      .topology_key = levels.get(&Spec::scheduling, &Scheduling::topology_key, "spec.scheduling.topologyKey"),
      .topology_check = always(levels.get(&Spec::topology_check, "spec.topologyCheck")),
      .autoscaling = levels.get(&Spec::autoscaling, "spec.autoscaling"),
      .disruption =
          always(levels.get(&Spec::disruption, &Disruption::max_unavailable, "spec.disruption.maxUnavailable")),
      .gateway = levels.get(&Spec::gateway, "spec.gateway"),
      .pod_templates = levels.pod_templates(),
  };
}

}  // namespace inference::render
