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

}  // namespace

Json resolved_spec(const Choices& choices) {
  const Settings& settings = choices.settings;
  Json resolved = {
      {"model", {{"path", choices.model.path.value}}},
      {"parallelism", {{"tensor", choices.sizing.tensor.value}, {"pipeline", choices.sizing.pipeline.value}}},
      {"nodes", choices.sizing.nodes.value},
      {"replicas", choices.sizing.replicas.value},
      {"gpusPerPod", choices.sizing.gpus_per_pod.value},
      {"engine",
       {{"name", choices.engine.facts->name},
        {"image", choices.engine.image.value},
        {"port", choices.engine.facts->port.value}}},
      {"accelerator", {{"resourceName", settings.resource_name.value}}},
      {"resources",
       {{"cpu", choices.resources.cpu.value},
        {"memory", choices.resources.memory.value},
        {"sharedMemory", choices.resources.shared_memory.value},
        {"threads", choices.resources.threads.value}}},
      {"startup", {{"timeoutSeconds", settings.startup_timeout.value}}},
      {"drain", {{"timeoutSeconds", settings.drain_timeout.value}}},
      {"terminationGracePeriodSeconds", choices.drain.grace_period.value},
      {"rollout",
       {{"maxSurge", choices.rollout.max_surge.value},
        {"maxUnavailable", choices.rollout.max_unavailable.value},
        {"progressDeadlineSeconds", choices.rollout.progress_deadline.value}}},
      {"disruption", {{"maxUnavailable", settings.disruption.value}}},
      {"gang", to_string(choices.gang.gang.value)},
      {"gangReason", choices.gang.gang.reason.text},
      {"service", choices.names.service},
  };
  if (!choices.engine.version_text.empty()) resolved["engine"]["version"] = choices.engine.version_text;
  put(resolved["accelerator"], "product", settings.product);
  if (Json neutral = serving(settings); !neutral.empty()) resolved["serving"] = std::move(neutral);
  return resolved;
}

}  // namespace inference::render
