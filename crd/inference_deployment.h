#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"

namespace inference::crd {

inline constexpr const char* kGroup = "inference-operator.dev";
inline constexpr const char* kVersion = "v1alpha1";
inline constexpr const char* kApiVersion = "inference-operator.dev/v1alpha1";
inline constexpr const char* kInferenceDeploymentKind = "InferenceDeployment";
inline constexpr const char* kInferenceProfileKind = "InferenceProfile";

enum class ProfilePolicy { kPinned, kFollow };
enum class AcceleratorMode { kDevicePlugin, kDra };
enum class Sharing { kNone, kTimeSlicing, kMps, kMig };
enum class CacheMode { kNone, kNode };
enum class Gang { kAuto, kNone, kVolcano, kKueue, kNative, kGates };
enum class TopologyCheck { kOff, kWarn, kEnforce };

/// The wire's spelling ("DevicePlugin", "MIG" …).
[[nodiscard]] std::string to_string(ProfilePolicy);
[[nodiscard]] std::string to_string(AcceleratorMode);
[[nodiscard]] std::string to_string(Sharing);
[[nodiscard]] std::string to_string(CacheMode);
[[nodiscard]] std::string to_string(Gang);
[[nodiscard]] std::string to_string(TopologyCheck);

/// A count or a percentage ("25%"), as rollout limits take them.
using IntOrPercent = std::variant<std::int64_t, std::string>;

struct Model {
  std::optional<std::string> uri;  // hf:// s3:// gs:// https:// oci:// pvc://CLAIM/PATH file:///PATH
  std::optional<std::string> revision;
  std::optional<std::string> served_name;  // the name in the API; the object's name when absent
};
struct Parallelism {
  std::optional<std::int64_t> tensor;
  std::optional<std::int64_t> pipeline;  // the number of nodes when absent
};
struct EnvVar {
  std::string name;
  Json source;  // {"value": …} or {"valueFrom": …}, as a container takes it
};
struct Engine {
  std::optional<std::string> name;  // vllm, sglang, tensorrt-llm, generic
  std::optional<std::string> image;
  std::optional<std::string> version;
  std::optional<std::vector<std::string>> args;  // appended after ours
  std::optional<std::vector<EnvVar>> env;
};
struct Serving {
  std::optional<std::int64_t> max_model_len;
  std::optional<std::int64_t> max_num_seqs;
  std::optional<std::int64_t> max_num_batched_tokens;
  std::optional<std::string>
      gpu_memory_utilization;  // a decimal in (0, 1], kept as text so that it is rendered as written
  std::optional<std::string> kv_cache_dtype;
  std::optional<bool> prefix_caching;
  std::optional<bool> chunked_prefill;
};
/// One choice of devices.
struct DeviceChoice {
  std::optional<std::string> device_class_name;
  std::optional<std::string> product;                 // as Accelerator::product; of the first choice it stands there
  std::optional<std::string> memory;                  // a quantity: the least of each device
  std::optional<std::vector<std::string>> selectors;  // CEL expressions over a device
};
struct Claim {
  DeviceChoice first;
  std::optional<std::vector<DeviceChoice>> alternatives;  // in the order of preference
  std::optional<std::string> match_attribute;
  std::optional<std::vector<Json>> tolerations;  // of device taints
};
struct Accelerator {
  std::optional<std::string> product;        // value of the node label nvidia.com/gpu.product of an undivided GPU
  std::optional<std::string> resource_name;  // extended resource
  std::optional<AcceleratorMode> mode;
  std::optional<Sharing> sharing;
  std::optional<std::string> mig;  // a MIG profile, e.g. 1g.10gb
  std::optional<Claim> claim;
  std::optional<bool> compute_domain;            // memory shared over NVLink between the nodes of a group
  std::optional<std::vector<Json>> tolerations;  // added to that of the GPU taint
};
struct Resources {
  std::optional<std::int64_t> cpu;           // whole CPUs a pod: only integers get exclusive cores
  std::optional<std::string> memory;         // a quantity, /dev/shm included
  std::optional<std::string> shared_memory;  // a quantity, the size of /dev/shm
  std::optional<std::int64_t> threads;
};
struct Rdma {
  std::optional<std::string> resource_name;
  std::optional<std::int64_t> count;
};
struct Network {
  std::optional<Rdma> rdma;
  std::optional<std::vector<std::string>> interfaces;
  std::optional<std::vector<EnvVar>> env;
};
struct Cache {
  std::optional<CacheMode> mode;
  std::optional<std::string> root;  // folder on the node
};
struct Startup {
  std::optional<std::int64_t> timeout_seconds;
};
struct Drain {
  std::optional<std::int64_t> timeout_seconds;
};
struct Rollout {
  std::optional<IntOrPercent> max_surge;
  std::optional<IntOrPercent> max_unavailable;
  std::optional<std::int64_t> progress_deadline_seconds;
};
struct Scheduling {
  std::optional<Gang> gang;
  std::optional<std::string> queue;
  std::optional<std::string> priority_class_name;
  std::optional<std::string> topology_key;
};
struct Disruption {
  std::optional<std::int64_t> max_unavailable;  // whole replicas (groups) that may be evicted at once
};
struct Autoscaling {
  std::optional<std::int64_t> min_replicas;
  std::optional<std::int64_t> max_replicas;
};
struct Gateway {
  std::optional<std::string> endpoint_picker;  // name of the endpoint picker's Service
};

/// What a user writes, nothing filled in: an absent field is absent. A profile's `defaults` have the same shape.
struct InferenceDeploymentSpec {
  Model model;
  Parallelism parallelism;
  std::optional<std::int64_t> nodes;
  std::optional<std::int64_t> replicas;
  std::optional<std::string> profile_ref;  // spec.profileRef.name
  std::optional<ProfilePolicy> profile_policy;
  Engine engine;
  Serving serving;
  Accelerator accelerator;
  Resources resources;
  Network network;
  Cache cache;
  Startup startup;
  Drain drain;
  Rollout rollout;
  Scheduling scheduling;
  std::optional<TopologyCheck> topology_check;
  std::optional<Autoscaling> autoscaling;
  Disruption disruption;
  std::optional<Gateway> gateway;
  std::optional<bool> suspend;
  Json pod_template;  // null when absent; else an object, merged as a strategic-merge patch
};

}  // namespace inference::crd
