#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "crd/decode.h"
#include "crd/inference_deployment.h"
#include "render/knowledge.h"
#include "render/traced.h"

namespace inference::render {

/// Where an effective value comes from: exactly three levels, the later one wins.
enum class Level { kBuiltIn, kProfile, kSpec };

/// An effective value of the spec, and who said so.
template <typename T>
struct Setting {
  T value{};
  Level level = Level::kBuiltIn;
  std::string path;    // "spec.drain.timeoutSeconds", also where a profile says it
  std::string said;    // "requested", "default of profile h100", or the why of the built-in default
  std::string source;  // of a built-in default

  /// Whether the user or the platform team asked for it.
  [[nodiscard]] bool asked() const { return level != Level::kBuiltIn; }
  [[nodiscard]] Reason reason(std::string_view rule) const {
    return {.rule = std::string(rule), .text = said, .inputs = {path}, .source = source};
  }
};

template <typename T>
using MaybeSetting = std::optional<Setting<T>>;

/// The effective spec before anything is computed from it: what three levels of defaults say together. A list replaces
/// the lower level's list; podTemplate is the only one that adds up, patch after patch.
struct Settings {
  MaybeSetting<std::string> model_uri, model_revision, served_name;
  Setting<std::int64_t> tensor, nodes, replicas;
  MaybeSetting<std::int64_t> pipeline;
  Setting<bool> suspend;
  MaybeSetting<crd::ProfilePolicy> profile_policy;

  Setting<std::string> engine_name;
  MaybeSetting<std::string> image, engine_version;
  MaybeSetting<std::vector<std::string>> args;
  MaybeSetting<std::vector<crd::EnvVar>> engine_env, network_env;

  MaybeSetting<std::int64_t> max_model_len, max_num_seqs, max_num_batched_tokens;
  MaybeSetting<std::string> gpu_memory_utilization, kv_cache_dtype;
  MaybeSetting<bool> prefix_caching, chunked_prefill;

  MaybeSetting<std::string> product, mig;
  Setting<std::string> resource_name;
  Setting<crd::AcceleratorMode> accelerator_mode;
  Setting<crd::Sharing> sharing;
  MaybeSetting<crd::Claim> claim;
  MaybeSetting<bool> compute_domain;
  MaybeSetting<std::vector<Json>> tolerations;

  MaybeSetting<std::int64_t> cpu, threads;
  MaybeSetting<std::string> memory, shared_memory;

  MaybeSetting<crd::Rdma> rdma;
  MaybeSetting<std::vector<std::string>> interfaces;

  Setting<crd::CacheMode> cache_mode;
  MaybeSetting<std::string> cache_root;
  Setting<std::int64_t> startup_timeout, drain_timeout;
  Setting<crd::IntOrPercent> max_surge, max_unavailable;
  MaybeSetting<std::int64_t> progress_deadline;
  Setting<crd::Gang> gang;
  MaybeSetting<std::string> queue, priority_class, topology_key;
  Setting<crd::TopologyCheck> topology_check;
  MaybeSetting<crd::Autoscaling> autoscaling;
  Setting<std::int64_t> disruption;
  MaybeSetting<crd::Gateway> gateway;

  std::vector<Setting<Json>> pod_templates;  // in the order in which they are applied
};

/// Built-in < profile < spec. `profile` may be null.
[[nodiscard]] Settings resolve(const crd::InferenceDeploymentSpec& spec, const crd::InferenceProfile* profile,
                               const Knowledge& knowledge);

}  // namespace inference::render
