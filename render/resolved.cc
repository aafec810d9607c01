#include "render/resolved.h"

#include <variant>

namespace inference::render {

namespace {

template <typename T>
void put(Json& object, const char* key, const MaybeSetting<T>& setting) {
  if (setting) object[key] = setting->value;
}

Json serving(const Settings& settings) {
  Json serving = Json::object();
  put(serving, "maxModelLen", settings.max_model_len);
  put(serving, "maxNumSeqs", settings.max_num_seqs);
  put(serving, "maxNumBatchedTokens", settings.max_num_batched_tokens);
  put(serving, "gpuMemoryUtilization", settings.gpu_memory_utilization);
  put(serving, "kvCacheDtype", settings.kv_cache_dtype);
  put(serving, "prefixCaching", settings.prefix_caching);
  put(serving, "chunkedPrefill", settings.chunked_prefill);
  return serving;
}

Json accelerator(const Choices& choices) {
  const Settings& settings = choices.settings;
  Json accelerator = Json::object();
  if (choices.accelerator.claims()) {
    accelerator["mode"] = to_string(choices.accelerator.mode);
  } else {
    accelerator["resourceName"] = choices.accelerator.resource_name.value;
  }
  put(accelerator, "product", settings.product);
  if (choices.accelerator.sharing != crd::Sharing::kNone)
    accelerator["sharing"] = to_string(choices.accelerator.sharing);
  put(accelerator, "mig", settings.mig);
  if (!choices.accelerator.node_configuration.empty())
    accelerator["nodeConfiguration"] = choices.accelerator.node_configuration;
  if (choices.claims.channel) accelerator["computeDomain"] = true;
  return accelerator;
}

}  // namespace

Json resolved_spec(const Choices& choices) {
  const Settings& settings = choices.settings;
  // Key by key and not from initializer lists, which nlohmann::json copies level by level: every reconcile comes by
  // here.
  Json resolved = Json::object();
  resolved["model"]["path"] = choices.model.path.value;
  resolved["parallelism"]["tensor"] = choices.sizing.tensor.value;
  resolved["parallelism"]["pipeline"] = choices.sizing.pipeline.value;
  resolved["nodes"] = choices.sizing.nodes.value;
  resolved["replicas"] = choices.sizing.replicas.value;
  resolved["gpusPerPod"] = choices.sizing.gpus_per_pod.value;
  resolved["engine"]["name"] = choices.engine.facts->name;
  resolved["engine"]["image"] = choices.engine.image.value;
  resolved["engine"]["port"] = choices.engine.facts->port.value;
  resolved["accelerator"] = accelerator(choices);
  Json& resources = resolved["resources"];
  resources["cpu"] = choices.resources.cpu.value;
  resources["memory"] = choices.resources.memory.value;
  resources["sharedMemory"] = choices.resources.shared_memory.value;
  resources["threads"] = choices.resources.threads.value;
  resolved["startup"]["timeoutSeconds"] = settings.startup_timeout.value;
  resolved["drain"]["timeoutSeconds"] = settings.drain_timeout.value;
  resolved["terminationGracePeriodSeconds"] = choices.drain.grace_period.value;
  Json& rollout = resolved["rollout"];
  rollout["maxSurge"] = choices.rollout.max_surge.value;
  rollout["maxUnavailable"] = choices.rollout.max_unavailable.value;
  rollout["progressDeadlineSeconds"] = choices.rollout.progress_deadline.value;
  resolved["disruption"]["maxUnavailable"] = settings.disruption.value;
  resolved["topologyCheck"] = to_string(settings.topology_check.value);
  resolved["gang"] = to_string(choices.gang.gang.value);
  resolved["gangReason"] = choices.gang.gang.reason.text;
  if (choices.gang.volcano_groups) resolved["podGroups"] = to_string(*choices.gang.volcano_groups);
  for (const auto& queue : {choices.gang.volcano_queue, choices.gang.kueue_queue}) {
    if (queue) resolved["queue"] = queue->value;
  }
  resolved["service"] = choices.names.service;
  if (!choices.engine.version_text.empty()) resolved["engine"]["version"] = choices.engine.version_text;
  if (Json neutral = serving(settings); !neutral.empty()) resolved["serving"] = std::move(neutral);
  return resolved;
}

}  // namespace inference::render
