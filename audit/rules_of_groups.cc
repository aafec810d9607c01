#include <algorithm>
#include <array>
#include <string>

#include "audit/patch.h"
#include "audit/rules.h"
#include "base/json_members.h"
#include "render/labels.h"

namespace inference::audit {
namespace {

constexpr std::string_view kDefaultScheduler = "default-scheduler";
constexpr std::string_view kVolcano = "volcano";

std::string scheduler_of(const PodTemplate& pod) {
  const std::string name = text_at(pod.spec(), "schedulerName");
  return name.empty() ? std::string(kDefaultScheduler) : name;
}

bool is_filled(const Json& value) {
  return (value.is_object() || value.is_array()) ? !value.empty() : value.is_string();
}

std::string label_of(const Json& metadata, const char* key) {
  const std::string label = text_at(member(metadata, "labels"), key);
  return label.empty() ? text_at(member(metadata, "annotations"), key) : label;
}

/// Whether the pods themselves say to which group they belong, or wait for somebody who knows.
bool is_grouped(const PodTemplate& pod) {
  const Json& spec = pod.spec();
  if (is_filled(member(spec, "schedulingGates")) || is_filled(member(spec, "schedulingGroup")) ||
      is_filled(member(spec, "workloadRef")))
    return true;
  static constexpr std::array kMarks = {render::kGangLabel,
                                        "scheduling.x-k8s.io/pod-group",
                                        "pod-group.scheduling.sigs.k8s.io",
                                        "scheduling.k8s.io/group-name",
                                        "scheduling.volcano.sh/group-name",
                                        "yunikorn.apache.org/task-groups",
                                        "kueue.x-k8s.io/pod-group-name",
                                        "gang.scheduling.koordinator.sh/name"};
  return std::ranges::any_of(kMarks, [&](const char* mark) { return !label_of(pod.metadata(), mark).empty(); });
}

/// Whether somebody is told on the workload to place its pods together.
bool is_grouped(const Workload& workload) {
  const Json& metadata = member(*workload.object, "metadata");
  // A Deployment's pods are admitted one by one.
  if (!label_of(metadata, render::kKueueQueueLabel).empty() && workload.kind != "Deployment") return true;
  if (!label_of(metadata, "scheduling.volcano.sh/group-min-member").empty()) return true;
  return workload.kind == "LeaderWorkerSet" && member(member(*workload.object, "spec"), "scheduling").is_object();
}

/// Schedulers that make a group of all pods of a workload by themselves.
bool groups_by_itself(const Workload& workload, const std::string& scheduler) {
  if (scheduler == "kai-scheduler" || scheduler == "runai-scheduler") return true;
  // The LeaderWorkerSet manager makes the PodGroups, if it is configured to: no manifest shows that.
  return scheduler == kVolcano && workload.kind == "LeaderWorkerSet";
}

}  // namespace

Founds gang_scheduling(const Subject& subject) {
  Founds found;
  if (!subject.multi_node) return found;
  const Workload& workload = *subject.workload;
  const std::string first = scheduler_of(workload.templates.front());
  for (const PodTemplate& pod : workload.templates) {
    if (scheduler_of(pod) == first) continue;
    found.push_back({.pointer = pod.spec_pointer() + "/schedulerName",
                     .message = "the pods of one group have two schedulers, " + first + " and " + scheduler_of(pod) +
                                ": neither can place the group whole",
                     .fix = "give leader and workers the same schedulerName"});
  }
  if (!found.empty() || is_grouped(workload) || groups_by_itself(workload, first)) return found;
  if (std::ranges::all_of(workload.templates, [](const PodTemplate& pod) { return is_grouped(pod); })) return found;
  const bool named = first != kDefaultScheduler;
  const PodTemplate& pod = workload.templates.front();
  found.push_back(
      {.pointer = named ? pod.spec_pointer() + "/schedulerName" : pod.pointer,
       .message = named ? "scheduler " + first +
                              " is named, but nothing makes a PodGroup of these pods: they are placed "
                              "one by one, and a group that is half placed holds GPUs and never serves"
                        : "the pods that need each other are placed one by one: a group that is half placed holds GPUs "
                          "and never serves",
       .fix =
           "place the group whole: Kueue (label kueue.x-k8s.io/queue-name), Volcano (schedulerName and a PodGroup of "
           "all pods), Kubernetes' own PodGroup, or scheduling gates"});
  return found;
}

Founds group_restart(const Subject& subject) {
  Founds found;
  const Workload& workload = *subject.workload;
  if (workload.kind != "LeaderWorkerSet" || workload.group_size < 2) return found;
  const std::string pointer = "/spec/leaderWorkerTemplate/restartPolicy";
  const std::string policy = text_at(member(member(subject.object(), "spec"), "leaderWorkerTemplate"), "restartPolicy");
  if (policy.empty() || policy == "RecreateGroupOnPodRestart") return found;  // the CRD's default
  PatchWriter patch(subject.object());
  patch.set(pointer, "RecreateGroupOnPodRestart");
  const bool late = policy == "RecreateGroupAfterStart";
  found.push_back(
      {.pointer = pointer,
       .message = late ? "a pod that fails while others have not started is restarted alone"
                       : "a pod that fails is restarted alone, and its group waits for it in collectives that "
                         "never end",
       .fix = "set RecreateGroupOnPodRestart",
       .patch = patch.take(),
       .severity = late ? std::optional(Severity::kInfo) : std::nullopt});
  return found;
}

}  // namespace inference::audit
