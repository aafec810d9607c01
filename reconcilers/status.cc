#include "reconcilers/status.h"

#include <algorithm>
#include <array>

#include "base/json_members.h"
#include "base/wording.h"
#include "crd/conditions.h"
#include "reconcilers/failures.h"

namespace inference::reconcilers {
namespace {

using crd::Condition;
using crd::Conditions;
using Status = crd::ConditionStatus;

constexpr const char* kGatedTooLong = "GatedTooLong";
constexpr const char* kSchedulerLacksGang = "SchedulerLacksGang";

/// One verdict: the part of a condition that a rule decides.
struct Verdict {
  Status status;
  std::string reason;
  std::string message;
};

std::string of(std::int64_t part, std::int64_t whole, std::string_view what) {
  return std::to_string(part) + " of " + std::to_string(whole) + " " + std::string(what);
}

std::string joined(const crd::FieldErrors& errors) {
  std::string text;
  for (const auto& error : errors) text += (text.empty() ? "" : "; ") + crd::to_string(error);
  return text;
}

const ApplyFailure* first(const std::vector<ApplyFailure>& failures, ApplyFailure::Kind kind) {
  const auto found = std::ranges::find(failures, kind, &ApplyFailure::kind);
  return found == failures.end() ? nullptr : &*found;
}

enum class Whose { kAll, kHeld };

/// "pod m-0: …; pod m-1: …" of the pods with this answer; empty when there is none.
std::string pods_that_say(const Pods& pods, topology::Answer answer, Whose whose) {
  constexpr std::size_t kNamedPods = 4;
  std::string text;
  std::size_t found = 0;
  for (const PodTopology& links : pods.topology) {
    if (!links.verdict || links.verdict->answer != answer || (whose == Whose::kHeld && !links.held)) continue;
    if (found++ < kNamedPods) text += (text.empty() ? "pod " : "; pod ") + links.pod + ": " + links.verdict->message;
  }
  if (found > kNamedPods) text += "; and " + std::to_string(found - kNamedPods) + " more";
  return text;
}

/// What all pods have in common: the weakest of the links that they call good.
const PodTopology& weakest(const std::vector<PodTopology>& pods) {
  constexpr std::array<std::string_view, 3> kWeakestFirst = {"SameSocket", "NVLink", "SingleGPU"};
  return *std::ranges::min_element(pods, {}, [&](const PodTopology& links) {
    return std::ranges::find(kWeakestFirst, links.verdict->reason) - kWeakestFirst.begin();
  });
}

/// What the spec comes to; where it is refused, the last one that was not, since that runs. Null: none ever was.
const Json* resolved_of(const StatusInput& in) {
  if (in.rendered != nullptr) return &in.rendered->resolved;
  return in.previous != nullptr && in.previous->contains("resolved") ? &(*in.previous)["resolved"] : nullptr;
}

/// By the pods' own reports: one bad pod is enough, and nothing is called verified before every pod has said so.
Verdict topology_verified(const StatusInput& in) {
  const Json* resolved = resolved_of(in);
  if (resolved == nullptr) return {Status::kUnknown, in.refusal->reason, "the spec is not resolved"};
  if (resolved->value("topologyCheck", "Off") == "Off")
    return {Status::kUnknown, "NotChecked", "the topology check is off"};
  if (resolved->value("/parallelism/tensor"_json_pointer, 0) == 1 || resolved->value("gpusPerPod", 0) == 1)
    return {Status::kTrue, "SingleGPU", "no two GPUs of a pod share a layer"};
  const Pods& pods = in.pods;
  if (std::string bad = pods_that_say(pods, topology::Answer::kBad, Whose::kAll); !bad.empty())
    return {Status::kFalse, "CrossesSYS", std::move(bad)};
  if (std::string unread = pods_that_say(pods, topology::Answer::kUnknown, Whose::kAll); !unread.empty())
    return {Status::kUnknown, "NotReadable", std::move(unread)};
  const std::int64_t reported =
      std::ranges::count_if(pods.topology, [](const PodTopology& links) { return links.verdict.has_value(); });
  if (reported == 0 || reported < pods.total)
    return {Status::kUnknown, "NotReported", of(reported, pods.total, "pods have reported how their GPUs are linked")};
  const topology::Verdict& verdict = *weakest(pods.topology).verdict;
  return {Status::kTrue, verdict.reason, verdict.message};
}

/// A pod that its own gate holds for good: nothing changes the links of the GPUs that it was given.
std::optional<Verdict> held(const Pods& pods) {
  std::string message = pods_that_say(pods, topology::Answer::kBad, Whose::kHeld);
  if (message.empty()) return std::nullopt;
  return Verdict{Status::kTrue, "CrossesSYS",
                 message + "; the engine is not started there: a pod that is deleted may be given other GPUs"};
}

/// What needs a human, the first that holds: nothing of it heals by waiting.
std::optional<Verdict> stalled(const StatusInput& in) {
  if (in.refusal != nullptr) return Verdict{Status::kTrue, in.refusal->reason, joined(in.refusal->errors)};
  using Kind = ApplyFailure::Kind;
  struct Told {
    Kind kind;
    const char* reason;
    const char* before;  // the object's name
    const char* after;
  };
  static constexpr std::array told = {
      Told{Kind::kForeign, "Conflict", "", " exists and is not ours, so it is left alone: "},
      Told{Kind::kInvalid, "Invalid", "the API server refuses ", ": "},
      Told{Kind::kForbidden, "Forbidden", "writing ", ": "}};
  for (const auto& [kind, reason, before, after] : told) {
    std::string message;
    for (const auto& failure : in.failures) {
      if (failure.kind == kind)
        message += (message.empty() ? "" : "; ") + (before + failure.object) + after + failure.message;
    }
    if (!message.empty()) return Verdict{Status::kTrue, reason, std::move(message)};
  }
  if (auto failure = first_failure(in.workload, in.pods, in.groups))
    return Verdict{Status::kTrue, std::move(failure->reason), std::move(failure->message)};
  if (auto by_gate = held(in.pods)) return by_gate;
  if (in.workload.create_failed) return Verdict{Status::kTrue, "FailedCreate", *in.workload.create_failed};
  if (in.workload.deadline_exceeded)
    return Verdict{Status::kTrue, "ProgressDeadlineExceeded", *in.workload.deadline_exceeded};
  return std::nullopt;
}

Verdict resolved(const StatusInput& in) {
  if (in.refusal != nullptr) return {Status::kFalse, in.refusal->reason, joined(in.refusal->errors)};
  std::string message = std::to_string(in.rendered->objects.size()) + " objects follow from the spec";
  for (const auto& notice : in.rendered->notices) message += "; " + notice.reason + ": " + notice.message;
  return {Status::kTrue, "Resolved", std::move(message)};
}

Verdict cache_ready(const StatusInput& in) {
  if (in.refusal != nullptr) return {Status::kUnknown, in.refusal->reason, "the spec is not resolved"};
  return {Status::kTrue, "NotUsed", "the weights are read in place from " + in.model_uri};
}

/// How many pods wait for a node, and how many GPUs that is.
std::string without_a_node(const StatusInput& in) {
  const std::int64_t pods = in.pods.total - in.pods.placed;
  const Json* resolved = resolved_of(in);
  const std::int64_t gpus = resolved == nullptr ? 0 : pods * resolved->value("gpusPerPod", std::int64_t{0});
  return of(pods, in.pods.total, "pods have no node") + (gpus > 0 ? " for " + counted(gpus, "GPU") : "") + "; ";
}

/// What to change where the spec asks for more GPUs a pod than was most likely meant.
std::string asked_for_too_much(const StatusInput& in) {
  if (in.rendered == nullptr) return {};
  const auto notice = std::ranges::find(in.rendered->notices, render::kTensorOverNodes, &render::Notice::reason);
  return notice == in.rendered->notices.end() ? std::string() : "; " + notice->message;
}

/// Whether the scheduler found too few GPUs for a pod, by its words in Kubernetes 1.37. They are the same for every
/// claim: a pod whose GPUs are none may lack the channel of a ComputeDomain.
bool lacks_gpus(const std::string& message, const Json& accelerator) {
  const auto says = [&message](const std::string& words) { return message.find(words) != std::string::npos; };
  const bool claims = accelerator.value("mode", "") == crd::to_string(crd::AcceleratorMode::kDra);
  if (!claims && says("Insufficient " + accelerator.value("resourceName", "nvidia.com/"))) return true;
  return (claims || !accelerator.value("computeDomain", false)) && says("cannot allocate all claims");
}

/// Of a group only those pods that were looked at last tell what is missing; the others tell of the group.
std::optional<Verdict> unschedulable(const StatusInput& in) {
  const PodProblem* told = in.pods.first(PodProblem::Kind::kUnschedulable);
  if (told == nullptr) return std::nullopt;
  const Json* resolved = resolved_of(in);
  const Json accelerator = resolved == nullptr ? Json::object() : resolved->value("accelerator", Json::object());
  const auto lacking = std::ranges::find_if(in.pods.problems, [&](const PodProblem& problem) {
    return problem.kind == PodProblem::Kind::kUnschedulable && lacks_gpus(problem.message, accelerator);
  });
  const bool gpus = lacking != in.pods.problems.end();
  return Verdict{Status::kFalse, gpus ? "InsufficientGPU" : "Unschedulable",
                 without_a_node(in) + where(gpus ? *lacking : *told) + (gpus ? asked_for_too_much(in) : "")};
}

Verdict scheduled(const StatusInput& in) {
  if (in.rendered != nullptr && in.rendered->replicas == 0)
    return {Status::kTrue, "NoReplicas", "no replicas are wanted"};
  if (!in.workload.exists) {
    // Nothing is made, since nothing would place it.
    if (in.refusal != nullptr && in.refusal->reason == "SchedulerMissing")
      return {Status::kFalse, in.refusal->reason, joined(in.refusal->errors)};
    return {Status::kUnknown, "NoPods", "no pods exist yet"};
  }
  const std::int64_t wanted = in.workload.wanted * (in.rendered != nullptr ? in.rendered->nodes : 1);
  if (!in.unheeded_group.empty()) {
    const bool all = in.pods.placed >= wanted;
    return {all ? Status::kTrue : Status::kFalse, kSchedulerLacksGang,
            (all ? "every pod has a node; but " : without_a_node(in)) + "the scheduler places the pods of PodGroup " +
                in.unheeded_group + " one by one: start kube-scheduler with --feature-gates=GenericWorkload=true, or " +
                "set scheduling.gang: Gates"};
  }
  if (auto told = unschedulable(in)) return *std::move(told);
  if (in.gated) {
    return {Status::kFalse, in.gated_too_long ? kGatedTooLong : "WaitingForGang",
            without_a_node(in) + *in.gated + asked_for_too_much(in)};
  }
  if (const PodProblem* problem = in.pods.first(PodProblem::Kind::kWaitingForGang)) {
    const auto pause = in.groups == nullptr ? std::nullopt : pausing_group(in.workload, *in.groups);
    return {Status::kFalse, "WaitingForGang",
            without_a_node(in) + pause.value_or(where(*problem)) + asked_for_too_much(in)};
  }
  if (in.pods.first(PodProblem::Kind::kWaitingForQuota) != nullptr) {
    const std::string queue = in.rendered != nullptr ? in.rendered->resolved.value("queue", "") : "";
    return {Status::kFalse, "WaitingForQuota",
            without_a_node(in) + "Kueue holds them until queue " + queue +
                " has room: the namespace's Workloads tell why (kubectl get workloads.kueue.x-k8s.io)"};
  }
  if (in.pods.placed >= wanted) return {Status::kTrue, "AllPodsPlaced", "every pod has a node"};
  if (in.pods.total < wanted) return {Status::kUnknown, "PodsMissing", of(in.pods.total, wanted, "pods exist")};
  return {Status::kUnknown, "PodsMissing", of(in.pods.placed, wanted, "pods have a node")};
}

Verdict available(const StatusInput& in) {
  const Workload& workload = in.workload;
  if (!workload.exists) return {Status::kUnknown, "NoWorkload", "nothing is deployed yet"};
  if (workload.wanted == 0) return {Status::kTrue, "NoReplicas", "no replicas are wanted"};
  const std::int64_t minimum = std::max<std::int64_t>(1, workload.wanted - workload.max_unavailable);
  const std::string message = of(workload.available, workload.wanted,
                                 "replicas are available, " + std::to_string(minimum) + " are the minimum");
  if (workload.available >= minimum) return {Status::kTrue, "MinimumReplicasAvailable", message};
  return {Status::kFalse, "MinimumReplicasUnavailable", message};
}

Verdict progressing(const StatusInput& in, const std::optional<Verdict>& stall) {
  if (stall) return {Status::kFalse, stall->reason, stall->message};
  if (in.workload.settled()) return {Status::kTrue, "RolloutComplete", "every replica is of the newest revision"};
  if (!in.workload.exists || !in.workload.current)
    return {Status::kTrue, "Applying", "the newest spec is being taken up"};
  return {Status::kTrue, "RollingOut",
          of(in.workload.updated, in.workload.wanted, "replicas are of the newest revision")};
}

/// Unknown while something loads or moves, False only when it has failed: Argo CD and people read False as broken.
Verdict ready(const StatusInput& in, const std::optional<Verdict>& stall, const Verdict& placed) {
  if (stall) return {Status::kFalse, stall->reason, stall->message};
  if (const auto* failure = first(in.failures, ApplyFailure::Kind::kTransient)) {
    return {Status::kUnknown, "ApplyFailed", "writing " + failure->object + ": " + failure->message};
  }
  const Workload& workload = in.workload;
  if (!workload.exists || !workload.current) return {Status::kUnknown, "Applying", "the newest spec is being taken up"};
  if (workload.settled()) {
    if (workload.wanted == 0) return {Status::kTrue, "Suspended", "no replicas are wanted"};
    return {Status::kTrue, "AllReplicasReady", of(workload.ready, workload.wanted, "replicas serve")};
  }
  if (workload.paused) return {Status::kUnknown, "Paused", "someone has paused the Deployment (spec.paused)"};
  if (placed.status == Status::kFalse) return {Status::kUnknown, placed.reason, placed.message};
  if (std::string unread = pods_that_say(in.pods, topology::Answer::kUnknown, Whose::kHeld); !unread.empty())
    return {Status::kUnknown, "NotReadable", unread + "; the engine is not started there"};
  if (workload.ready == workload.wanted && workload.updated == workload.wanted &&
      workload.available < workload.wanted) {
    return {Status::kUnknown, "Stabilizing",
            of(workload.available, workload.wanted, "replicas have served for minReadySeconds")};
  }
  if (in.pods.total == 0) return {Status::kUnknown, placed.reason, placed.message};
  return {Status::kUnknown, "Loading",
          of(workload.ready, workload.wanted, "replicas serve, ") +
              of(workload.updated, workload.wanted, "are of the newest revision")};
}

Json notices_json(const std::vector<render::Notice>& notices) {
  Json list = Json::array();
  for (const auto& notice : notices)
    list.push_back({{"reason", notice.reason}, {"path", notice.path}, {"message", notice.message}});
  return list;
}

std::int64_t leaked(const Json* status) {
  return status == nullptr ? 0 : status->value("/gpus/leaked"_json_pointer, std::int64_t{0});
}

std::string leak_message(const Json& status) {
  std::string names;
  for (const Json& name : status["gpus"]["leaking"]) names += (names.empty() ? "" : ", ") + name.get<std::string>();
  return std::to_string(leaked(&status)) + " GPUs are held by what has not served for " +
         std::to_string(status.value("/resolved/startup/timeoutSeconds"_json_pointer, std::int64_t{0})) +
         " s (spec.startup.timeoutSeconds): " + names;
}

}  // namespace

Json compute_status(const StatusInput& in, std::string_view now) {
  Conditions conditions;
  if (in.previous != nullptr) conditions = Conditions::from_json(in.previous->value("conditions", Json::array()));
  const auto set = [&](std::string_view type, Verdict verdict) {
    conditions.set({.type = std::string(type),
                    .status = verdict.status,
                    .reason = std::move(verdict.reason),
                    .message = std::move(verdict.message),
                    .last_transition_time = {},
                    .observed_generation = in.generation},
                   now);
  };
  const std::optional<Verdict> stall = stalled(in);
  const Verdict placed = scheduled(in);
  const Verdict summary = ready(in, stall, placed);
  set("Ready", summary);
  set("Resolved", resolved(in));
  set("CacheReady", cache_ready(in));
  set("Scheduled", placed);
  set("Available", available(in));
  set("Progressing", progressing(in, stall));
  set("TopologyVerified", topology_verified(in));
  // kstatus' two abnormal-true types: there only while they hold (sigs.k8s.io/cli-utils, pkg/kstatus).
  if (stall) {
    set("Stalled", *stall);
  } else {
    conditions.remove("Stalled");
  }
  if (summary.status == Status::kUnknown) {
    set("Reconciling", {Status::kTrue, summary.reason, summary.message});
  } else {
    conditions.remove("Reconciling");
  }

  Json status = {{"observedGeneration", in.generation},    {"conditions", conditions.to_json()},
                 {"replicas", in.workload.replicas},       {"readyReplicas", in.workload.ready},
                 {"updatedReplicas", in.workload.updated}, {"gpus", to_json(in.gpus)}};
  if (in.workload.exists)
    status["workload"] = {
        {"apiVersion", in.workload.api_version}, {"kind", in.workload.kind}, {"name", in.workload.name}};
  if (in.groups != nullptr) status["groups"] = in.groups->to_json();
  if (in.rendered != nullptr) {
    status["selector"] = in.rendered->selector;
    status["desiredReplicas"] = in.rendered->replicas;
    status["nodes"] = in.rendered->nodes;
    status["gpusPerPod"] = in.rendered->resolved.value("gpusPerPod", std::int64_t{0});
    status["resolved"] = in.rendered->resolved;
    status["notices"] = notices_json(in.rendered->notices);
  } else if (in.previous != nullptr) {
    // A refused spec changes nothing that runs, so what is known of it stays.
    for (const char* key : {"selector", "desiredReplicas", "nodes", "gpusPerPod", "resolved"}) {
      if (in.previous->contains(key)) status[key] = (*in.previous)[key];
    }
  }
  return status;
}

std::vector<Transition> transitions(const Json* previous, const Json& current) {
  std::vector<Transition> changes;
  const auto then = [previous](const char* type) -> const Json& {
    static const Json kNothing;
    return condition_in(previous == nullptr ? kNothing : *previous, type);
  };
  const Json& after = condition_in(current, "Ready");
  if (text_at(after, "status") == "True" && text_at(then("Ready"), "status") != "True") {
    changes.push_back({false, text_at(after, "reason"), text_at(after, "message")});
  }
  const Json& is_stalled = condition_in(current, "Stalled");
  if (!is_stalled.is_null() && text_at(is_stalled, "reason") != text_at(then("Stalled"), "reason")) {
    changes.push_back({true, text_at(is_stalled, "reason"), text_at(is_stalled, "message")});
  }
  // A held pod has been told above.
  const Json& is_linked = condition_in(current, "TopologyVerified");
  if (is_stalled.is_null() && text_at(is_linked, "status") == "False" &&
      text_at(then("TopologyVerified"), "status") != "False") {
    changes.push_back({true, text_at(is_linked, "reason"), text_at(is_linked, "message")});
  }
  const Json& placed = condition_in(current, "Scheduled");
  for (const char* reason : {kGatedTooLong, kSchedulerLacksGang}) {
    if (text_at(placed, "reason") == reason && text_at(then("Scheduled"), "reason") != reason)
      changes.push_back({true, reason, text_at(placed, "message")});
  }
  if (leaked(&current) > 0 && leaked(previous) == 0) changes.push_back({true, "GPUsLeaked", leak_message(current)});
  const Json known = previous == nullptr ? Json::array() : previous->value("notices", Json::array());
  for (const Json& notice : current.value("notices", Json::array())) {
    if (std::ranges::find(known, notice) == known.end())
      changes.push_back({false, notice.value("reason", ""), notice.value("message", "")});
  }
  return changes;
}

bool says_something_new(const Json* previous, const Json& current) {
  if (previous == nullptr || previous->value("resolved", Json()) != current.value("resolved", Json())) return true;
  const auto gist = [](const Json& status) {
    Json all = Json::array();
    for (const Json& condition : status.value("conditions", Json::array()))
      all.push_back({condition.value("type", ""), condition.value("status", ""), condition.value("reason", ""),
                     condition.value("observedGeneration", 0)});
    return all;
  };
  return gist(*previous) != gist(current);
}

}  // namespace inference::reconcilers
