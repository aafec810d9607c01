#include "audit/subject.h"

#include <algorithm>
#include <utility>

#include "base/json_members.h"
#include "render/labels.h"

namespace inference::audit {
namespace {

bool has_ports(const Container& container) {
  const Json& ports = member(*container.json, "ports");
  return ports.is_array() && !ports.empty();
}

/// Known engines serve by their command; what is not known serves if it says on which port, and is no trainer.
bool does_serve(const GpuContainer& gpu) {
  if (gpu.pod->role == Role::kTask || gpu.pod->role == Role::kWorker || gpu.engine.trains) return false;
  return !gpu.engine.name.empty() || has_ports(*gpu.container);
}

/// Whether the command line makes its pod one of several that need each other; `replicas` of them run at once.
bool joins_others(const GpuContainer& gpu, std::int64_t replicas) {
  const Words& words = gpu.engine.words;
  if (gpu.engine.nodes) return *gpu.engine.nodes > 1;  // the others may be in another workload
  if (replicas < 2) return false;
  if (find_flag(words,
                {"--nnodes", "--node-rank", "--num-machines", "--dist-init-addr", "--master-addr", "--rdzv-endpoint"}))
    return true;
  return calls(words, {"ray", "start"});
}

bool is_multi_node(const Subject& subject) {
  const Workload& workload = *subject.workload;
  if (workload.kind == "LeaderWorkerSet") return workload.group_size > 1;
  if (workload.kind == "DaemonSet") return false;
  return std::ranges::any_of(subject.containers,
                             [&](const GpuContainer& gpu) { return joins_others(gpu, workload.replicas); });
}

}  // namespace

Subject make_subject(const Workload& workload, const Surroundings& around, const render::Knowledge& knowledge) {
  Subject subject{.workload = &workload, .around = &around, .knowledge = &knowledge, .containers = {}, .pods = {}};
  for (const PodTemplate& pod : workload.templates) {
    for (const Container& container : pod.containers) {
      if (container.kind == Container::Kind::kInit) continue;
      Devices devices = devices_of(workload, pod, container, around);
      if (!devices.any()) continue;
      GpuContainer gpu{.pod = &pod,
                       .container = &container,
                       .devices = std::move(devices),
                       .engine = engine_of(container, knowledge)};
      gpu.serves = does_serve(gpu);
      subject.containers.push_back(std::move(gpu));
      if (subject.pods.empty() || subject.pods.back() != &pod) subject.pods.push_back(&pod);
    }
  }
  subject.multi_node = is_multi_node(subject);
  const Json& labels = member(member(subject.object(), "metadata"), "labels");
  subject.queued = !text_at(labels, render::kKueueQueueLabel).empty();
  return subject;
}

}  // namespace inference::audit
