#include "render/decide/sizing.h"

#include <string>

#include "base/wording.h"

namespace inference::render {

namespace {

Traced<std::int64_t> decide_replicas(const Settings& settings) {
  if (settings.suspend.value) {
    return {.value = 0,
            .reason = {.rule = "replicas", .text = "suspended", .inputs = {settings.suspend.path}, .source = {}}};
  }
  Reason reason = settings.replicas.reason("replicas");
  if (settings.replicas.level == Level::kSpec) reason.text = std::to_string(settings.replicas.value) + " requested";
  return {.value = settings.replicas.value, .reason = std::move(reason)};
}

Traced<std::int64_t> decide_pipeline(const Settings& settings) {
  if (settings.pipeline) return {.value = settings.pipeline->value, .reason = settings.pipeline->reason("pipeline")};
  return {.value = settings.nodes.value,
          .reason = {.rule = "pipeline",
                     .text = "one stage a node, since nothing else is asked for",
                     .inputs = {settings.nodes.path},
                     .source = {}}};
}

/// Whoever writes tensor: 16 and nodes: 2 most likely means 16 GPUs on two nodes, and would get 16 in each pod.
void tell_if_tensor_was_meant_over_nodes(const Settings& settings, const Sizing& sizing, const RuleConstants& rules,
                                         Findings& findings) {
  const std::int64_t nodes = sizing.nodes.value;
  const std::int64_t tensor = sizing.tensor.value;
  if (settings.pipeline || nodes == 1 || tensor % nodes != 0) return;
  if (sizing.gpus_per_pod.value <= rules.common_node_gpus.value) return;
  findings.notice(
      kTensorOverNodes, settings.tensor.path,
      "each pod asks for " + std::to_string(sizing.gpus_per_pod.value) + " GPUs (" + sizing.gpus_per_pod.reason.text +
          ", since pipeline defaults to nodes); if one tensor-parallel model of " + std::to_string(tensor) +
          " GPUs over " + std::to_string(nodes) +
          " nodes is meant, set spec.parallelism.pipeline to 1: then a pod asks for " + std::to_string(tensor / nodes));
}

}  // namespace

Sizing decide_sizing(const Settings& settings, const RuleConstants& rules, Findings& findings) {
  Sizing sizing{
      .replicas = decide_replicas(settings),
      .nodes = {.value = settings.nodes.value, .reason = settings.nodes.reason("nodes")},
      .tensor = {.value = settings.tensor.value, .reason = settings.tensor.reason("tensor")},
      .pipeline = decide_pipeline(settings),
      .gpus_per_pod = {.value = 1, .reason = {}},
  };
  const std::int64_t tensor = sizing.tensor.value;
  const std::int64_t pipeline = sizing.pipeline.value;
  const std::int64_t nodes = sizing.nodes.value;
  const std::string sum =
      std::to_string(tensor) + " tensor × " + std::to_string(pipeline) + " pipeline / " + counted(nodes, "node");
  sizing.gpus_per_pod.reason = {.rule = "gpus_per_pod",
                                .text = sum,
                                .inputs = {settings.tensor.path, "spec.parallelism.pipeline", settings.nodes.path},
                                .source = {}};
  if (tensor * pipeline % nodes != 0) {
    findings.refuse("InvalidSpec", "spec.parallelism",
                    sum + " is no whole number of GPUs: tensor × pipeline must be divisible by nodes");
  } else {
    sizing.gpus_per_pod.value = tensor * pipeline / nodes;
    tell_if_tensor_was_meant_over_nodes(settings, sizing, rules, findings);
  }
  return sizing;
}

}  // namespace inference::render
