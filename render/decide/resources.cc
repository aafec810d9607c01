#include "render/decide/resources.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/wording.h"
#include "crd/quantity.h"

namespace inference::render {

namespace {

using crd::Quantity;

/// The quantity of a setting; refused by path when it is none.
Quantity quantity_of(const Setting<std::string>& setting, Findings& findings) {
  const auto parsed = Quantity::parse(setting.value);
  if (parsed) return *parsed;
  findings.refuse("InvalidSpec", setting.path, parsed.error());
  return {};
}

/// A constant of defaults.yaml; the tests prove that it is a quantity.
Quantity constant(const Fact<std::string>& fact) {
  return Quantity::parse(fact.value).value_or(Quantity());
}

Traced<std::int64_t> decide_cpu(const Settings& settings, const Sizing& sizing, const RuleConstants& rules) {
  if (settings.cpu) return {.value = settings.cpu->value, .reason = settings.cpu->reason("cpu")};
  const std::int64_t count = sizing.gpus_per_pod.value;
  Reason reason = rules.cpu_per_gpu.reason("cpu_from_gpus", sizing.gpus_per_pod.reason.inputs);
  reason.text = std::to_string(rules.cpu_per_gpu.value) + " a GPU × " + counted(count, "GPU") + ": " + reason.text;
  return {.value = rules.cpu_per_gpu.value * count, .reason = std::move(reason)};
}

std::pair<Quantity, Reason> decide_memory(const Settings& settings, const Sizing& sizing, const RuleConstants& rules,
                                          Findings& findings) {
  if (settings.memory) return {quantity_of(*settings.memory, findings), settings.memory->reason("memory")};
  const std::int64_t count = sizing.gpus_per_pod.value;
  Reason reason = rules.memory_per_gpu.reason("memory_from_gpus", sizing.gpus_per_pod.reason.inputs);
  reason.text = rules.memory_per_gpu.value + " a GPU × " + counted(count, "GPU") + ": " + reason.text;
  return {constant(rules.memory_per_gpu) * count, std::move(reason)};
}

std::pair<Quantity, Reason> decide_shared_memory(const Settings& settings, const Sizing& sizing,
                                                 const RuleConstants& rules, Findings& findings) {
  if (settings.shared_memory)
    return {quantity_of(*settings.shared_memory, findings), settings.shared_memory->reason("shared_memory")};
  const std::int64_t count = sizing.gpus_per_pod.value;
  const Quantity by_gpus = constant(rules.shared_memory_per_gpu) * count;
  const Quantity minimum = constant(rules.shared_memory_minimum);
  const bool is_minimum = by_gpus < minimum;
  const auto& fact = is_minimum ? rules.shared_memory_minimum : rules.shared_memory_per_gpu;
  Reason reason = fact.reason("shared_memory_from_gpus", sizing.gpus_per_pod.reason.inputs);
  reason.text =
      (is_minimum ? "at least " + fact.value : fact.value + " a GPU × " + counted(count, "GPU")) + ": " + reason.text;
  return {std::max(by_gpus, minimum), std::move(reason)};
}

Traced<std::int64_t> decide_threads(const Settings& settings, const Traced<std::int64_t>& cpu,
                                    const RuleConstants& rules) {
  if (settings.threads) return {.value = settings.threads->value, .reason = settings.threads->reason("threads")};
  const auto share =
      static_cast<std::int64_t>(std::floor(static_cast<double>(cpu.value) * rules.threads_per_cpu.value));
  Reason reason = rules.threads_per_cpu.reason("threads_from_cpu", {"spec.resources.cpu"});
  reason.text = "a share of " + std::to_string(cpu.value) + " CPUs, at least 1: " + reason.text;
  return {.value = std::max<std::int64_t>(share, 1), .reason = std::move(reason)};
}

HoleValue resource_list(const Settings& settings, const Sizing& sizing, const AcceleratorChoice& accelerator,
                        const PodResources& resources) {
  HoleValue list{.value = Json::object(), .reason = sizing.gpus_per_pod.reason, .parts = {}};
  const auto add = [&](const std::string& name, std::string quantity, const Reason& reason) {
    std::string pointer = "/" + name;
    for (std::size_t at = 1; (at = pointer.find('/', at)) != std::string::npos; at += 2) pointer.replace(at, 1, "~1");
    list.parts.push_back({.pointer = std::move(pointer), .reason = reason});
    list.value[name] = std::move(quantity);
  };
  add("cpu", std::to_string(resources.cpu.value), resources.cpu.reason);
  add("memory", resources.memory.value, resources.memory.reason);
  if (!accelerator.claims())
    add(accelerator.resource_name.value, std::to_string(sizing.gpus_per_pod.value), sizing.gpus_per_pod.reason);
  if (settings.rdma && settings.rdma->value.resource_name) {
    const std::int64_t count = settings.rdma->value.count.value_or(1);
    Reason reason = settings.rdma->reason("rdma");
    if (!settings.rdma->value.count) reason.text = "one device, which all of the node's adapters stand behind";
    add(*settings.rdma->value.resource_name, std::to_string(count), reason);
  }
  return list;
}

}  // namespace

PodResources decide_resources(const Settings& settings, const Sizing& sizing, const AcceleratorChoice& accelerator,
                              const RuleConstants& rules, Findings& findings) {
  auto [memory, memory_reason] = decide_memory(settings, sizing, rules, findings);
  auto [shared, shared_reason] = decide_shared_memory(settings, sizing, rules, findings);
  Traced<std::int64_t> cpu = decide_cpu(settings, sizing, rules);
  Traced<std::int64_t> threads = decide_threads(settings, cpu, rules);
  PodResources resources{
      .cpu = std::move(cpu),
      .memory = {.value = memory.to_string(), .reason = std::move(memory_reason)},
      .shared_memory = {.value = shared.to_string(), .reason = std::move(shared_reason)},
      .threads = std::move(threads),
      .list = {},
  };
  if (shared >= memory) {
    findings.refuse(
        "InvalidSpec",
        settings.shared_memory || !settings.memory ? "spec.resources.sharedMemory" : "spec.resources.memory",
        "/dev/shm of " + resources.shared_memory.value + " counts against the memory limit of " +
            resources.memory.value + " and leaves the engine nothing");
  }
  if (settings.rdma && !settings.rdma->value.resource_name) {
    findings.refuse("InvalidSpec", "spec.network.rdma.resourceName",
                    "is needed: each cluster's RDMA device plugin chooses its own name");
  }
  if (resources.threads.value > resources.cpu.value) {
    findings.notice(
        "ThreadsExceedCpu", "spec.resources.threads",
        std::to_string(resources.threads.value) + " threads share " + std::to_string(resources.cpu.value) + " CPUs");
  }
  resources.list = resource_list(settings, sizing, accelerator, resources);
  return resources;
}

}  // namespace inference::render
