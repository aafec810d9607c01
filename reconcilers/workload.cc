#include "reconcilers/workload.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/json_members.h"
#include "base/parse_integer.h"
#include "diagnose/container_end.h"
#include "render/labels.h"
#include "topology/pod_report.h"

namespace inference::reconcilers {
namespace {

const Json& at(const Json& object, const char* key) {
  static const Json kNone = Json::object();
  const auto found = object.find(key);
  return found == object.end() || !found->is_object() ? kNone : *found;
}

/// A count, or a percentage of `of` rounded down, as the Deployment controller resolves maxUnavailable; at least 1,
/// since 0 means that surge does the work.
std::int64_t resolve_limit(const Json& object, const char* key, std::int64_t of) {
  const auto found = object.find(key);
  if (found == object.end()) return 1;
  if (found->is_number_integer()) return found->get<std::int64_t>();
  std::int64_t percent = 0;
  if (found->is_string()) {
    const auto& digits = found->get_ref<const std::string&>();
    std::from_chars(digits.data(), digits.data() + digits.size(), percent);
  }
  return of * percent / 100;
}

void read_deployment(const Json& object, Workload& workload) {
  const Json& status = at(object, "status");
  workload.available = integer_at(status, "availableReplicas");
  workload.paused = at(object, "spec").value("paused", Json()) == true;
  workload.max_unavailable =
      resolve_limit(at(at(at(object, "spec"), "strategy"), "rollingUpdate"), "maxUnavailable", workload.wanted);
  const Json& failure = condition_of(object, "ReplicaFailure");
  if (text_at(failure, "status") == "True") workload.create_failed = text_at(failure, "message");
  const Json& progress = condition_of(object, "Progressing");
  if (text_at(progress, "reason") == "ProgressDeadlineExceeded")
    workload.deadline_exceeded = text_at(progress, "message");
}

void read_leader_worker_set(const Json& object, Workload& workload) {
  workload.available = workload.ready;
  workload.max_unavailable = resolve_limit(at(at(at(object, "spec"), "rolloutStrategy"), "rollingUpdateConfiguration"),
                                           "maxUnavailable", workload.wanted);
}

bool contains(std::initializer_list<std::string_view> set, std::string_view value) {
  return std::ranges::find(set, value) != set.end();
}

/// An engine that ends after it has served is started again and loads: that is no standstill until it comes again and
/// again.
void read_end(const std::string& pod, const std::string& container, const diagnose::ContainerEnd& end,
              std::vector<PodProblem>& problems) {
  const bool engine = container == diagnose::kEngineContainer;
  if (!end.backing_off && (!engine || end.served)) return;
  const diagnose::EngineFailure failure = diagnose::read_last_words(end.words);
  problems.push_back({.kind = PodProblem::Kind::kCrash,
                      .pod = pod,
                      .container = container,
                      .message = diagnose::describe(end, failure),
                      .reason = engine ? failure.reason : "CrashLoop"});
}

void read_container(const Json& object, const std::string& pod, const Json& status, std::vector<PodProblem>& problems) {
  const Json& waiting = at(at(status, "state"), "waiting");
  const std::string reason = text_at(waiting, "reason");
  const std::string container = text_at(status, "name");
  if (contains({"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError",
                "RegistryUnavailable"},
               reason)) {
    problems.push_back({PodProblem::Kind::kImage, pod, container, reason + ": " + text_at(waiting, "message")});
  } else if (contains({"CreateContainerConfigError", "CreateContainerError", "RunContainerError"}, reason)) {
    problems.push_back({PodProblem::Kind::kConfig, pod, container, reason + ": " + text_at(waiting, "message")});
  } else if (const auto end = diagnose::read_container_end(object, status)) {
    read_end(pod, container, *end, problems);
  }
}

void read_scheduling(const std::string& pod, const Json& object, std::vector<PodProblem>& problems) {
  const Json& spec = at(object, "spec");
  const Json gates = spec.value("schedulingGates", Json::array());
  if (std::ranges::any_of(
          gates, [](const Json& gate) { return text_at(gate, "name").starts_with(render::kKueueGatePrefix); })) {
    problems.push_back({PodProblem::Kind::kWaitingForQuota, pod, {}, "is held by Kueue"});
    return;
  }
  const bool held =
      std::ranges::any_of(gates, [](const Json& gate) { return text_at(gate, "name") == render::kGangGate; });
  if (held) {
    problems.push_back({PodProblem::Kind::kWaitingForGang, pod, {}, "is held until its whole group fits"});
    return;
  }
  const Json& judged = condition_of(object, "PodScheduled");
  if (text_at(judged, "status") == "False") {
    problems.push_back({PodProblem::Kind::kUnschedulable, pod, {}, text_at(judged, "message")});
  } else if (judged.is_null() && spec.contains("schedulingGroup")) {
    problems.push_back({PodProblem::Kind::kWaitingForGang, pod, {}, "waits until all pods of its group exist and fit"});
  }
}

}  // namespace

Workload read_workload(const Json* object) {
  Workload workload;
  if (object == nullptr) return workload;
  const Json& metadata = at(*object, "metadata");
  const Json& status = at(*object, "status");
  workload.exists = true;
  workload.api_version = text_at(*object, "apiVersion");
  workload.kind = text_at(*object, "kind");
  workload.name = text_at(metadata, "name");
  workload.wanted = integer_at(at(*object, "spec"), "replicas", 1);
  workload.replicas = integer_at(status, "replicas");
  workload.updated = integer_at(status, "updatedReplicas");
  workload.ready = integer_at(status, "readyReplicas");
  // LeaderWorkerSet reports observedGeneration since v0.9; before that a status with counts is all there is to go by.
  const bool reports_generation = status.contains("observedGeneration") || workload.kind == "Deployment";
  workload.current = reports_generation ? integer_at(status, "observedGeneration") >= integer_at(metadata, "generation")
                                        : status.contains("replicas");
  // On its way out it serves no longer for what is wanted.
  if (metadata.contains("deletionTimestamp")) workload.current = false;
  if (workload.kind == "Deployment") {
    read_deployment(*object, workload);
  } else {
    read_leader_worker_set(*object, workload);
  }
  return workload;
}

std::string where(const PodProblem& problem) {
  return "pod " + problem.pod + (problem.container.empty() ? "" : ", container " + problem.container) + ": " +
         problem.message;
}

const PodProblem* Pods::first(PodProblem::Kind kind) const {
  const auto found = std::ranges::find(problems, kind, &PodProblem::kind);
  return found == problems.end() ? nullptr : &*found;
}

std::string revision_of(const Json& pod) {
  const Json& labels = at(at(pod, "metadata"), "labels");
  const std::string group = text_at(labels, render::kLwsRevisionLabel);
  return group.empty() ? text_at(labels, "pod-template-hash") : group;
}

std::optional<std::int64_t> group_index(const Json& pod) {
  return parse_integer<std::int64_t>(text_at(at(at(pod, "metadata"), "labels"), render::kLwsGroupIndexLabel));
}

std::vector<std::string> fields_of_pods() {
  return {"metadata.labels",
          "metadata.creationTimestamp",
          "metadata.deletionTimestamp",
          "spec.nodeName",
          "spec.schedulingGroup",
          "spec.schedulingGates",
          "spec.resourceClaims",
          "spec.containers..resources",
          "spec.initContainers..resources",
          "spec.initContainers..restartPolicy",
          "status.phase",
          "status.conditions",
          "status.containerStatuses",
          "status.initContainerStatuses"};
}

Pods read_pods(const std::vector<Object>& pods) {
  Pods result;
  std::pair<std::int64_t, std::string> newest;  // a rollout takes groups from the last to the first, and makes new pods
  for (const Object& pod : pods) {
    const Json& metadata = at(*pod, "metadata");
    const Json& spec = at(*pod, "spec");
    const Json& status = at(*pod, "status");
    if (metadata.contains("deletionTimestamp") || contains({"Succeeded", "Failed"}, text_at(status, "phase"))) continue;
    ++result.total;
    const std::string name = text_at(metadata, "name");
    const std::string revision = revision_of(*pod);
    if (std::pair age(group_index(*pod).value_or(0), text_at(metadata, "creationTimestamp")); age >= newest) {
      newest = std::move(age);
      result.newest = revision;
    }
    const std::size_t known = result.problems.size();
    if (!text_at(spec, "nodeName").empty()) {
      ++result.placed;
    } else {
      read_scheduling(name, *pod, result.problems);
    }
    for (const char* list : {"initContainerStatuses", "containerStatuses"}) {
      for (const Json& container : status.value(list, Json::array()))
        read_container(*pod, name, container, result.problems);
    }
    for (std::size_t i = known; i < result.problems.size(); ++i) result.problems[i].revision = revision;
    if (const auto report = topology::read_pod_report(*pod)) {
      PodTopology& links = result.topology.emplace_back();
      links.pod = name;
      links.held = report->held;
      if (report->record) links.verdict = topology::judge(*report->record);
    }
  }
  return result;
}

}  // namespace inference::reconcilers
