#include <algorithm>

#include "base/json_members.h"
#include "base/wording.h"
#include "diagnose/container_end.h"
#include "diagnose/rules.h"

namespace inference::diagnose {
namespace {

using Found = std::optional<Finding>;

std::string waiting_reason(const Json& status) {
  return text_at(member(member(status, "state"), "waiting"), "reason");
}

/// The first container of a pod that waits for one of `reasons`, with what the kubelet says of it.
struct Waiting {
  std::string pod;
  std::string container;
  std::string image;
  std::string reason;
  std::string message;
};

std::optional<Waiting> first_waiting(const Evidence& in, std::initializer_list<std::string_view> reasons) {
  for (const Json& pod : in.pods) {
    if (is_leaving(pod)) continue;
    for (const char* list : {"initContainerStatuses", "containerStatuses"}) {
      for (const Json& status : member(member(pod, "status"), list)) {
        const std::string reason = waiting_reason(status);
        if (std::ranges::find(reasons, reason) == reasons.end()) continue;
        return Waiting{name_of(pod), text_at(status, "name"), text_at(status, "image"), reason,
                       quotable(text_at(member(member(status, "state"), "waiting"), "message"))};
      }
    }
  }
  return std::nullopt;
}

/// Of the pods whose engine has ended: the one that knows most of it.
Found engine_ended(const Evidence& in) {
  const Json* told = nullptr;
  std::optional<ContainerEnd> end;
  EngineFailure failure;
  for (const Json& pod : in.pods) {
    const auto found = is_leaving(pod) ? std::nullopt : read_engine_end(pod);
    if (!found || (found->served && !found->backing_off)) continue;
    EngineFailure read = read_last_words(found->words);
    if (told != nullptr && (!is_vague(failure.reason) || read.reason == "EngineFailed")) continue;
    told = &pod;
    end = found;
    failure = std::move(read);
  }
  if (told == nullptr) return std::nullopt;
  const std::string why = failure.cause.empty() ? "" : ": " + failure.cause;
  const std::string quote = failure.quote.empty() ? "" : " (it said: " + failure.quote + ")";
  std::string cause = "the engine in pod " + name_of(*told) + " ended with exit code " +
                      std::to_string(end->words.exit_code) + why + quote;
  return Finding{std::move(cause),
                 step_for(in, failure, "kubectl logs -n " + in.ns + " " + name_of(*told) + " -c engine --previous")};
}

Found image_pull(const Evidence& in) {
  const auto waiting = first_waiting(in, {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull",
                                          "ImageInspectError", "RegistryUnavailable"});
  if (!waiting) return std::nullopt;
  return Finding{"the image " + waiting->image + " of pod " + waiting->pod + " can't be pulled (" + waiting->reason +
                     ": " + waiting->message + ")",
                 "correct spec.engine.image or spec.engine.version, or give the pods the registry's credentials"};
}

Found container_config(const Evidence& in) {
  const auto waiting = first_waiting(in, {"CreateContainerConfigError", "CreateContainerError", "RunContainerError"});
  if (!waiting) return std::nullopt;
  return Finding{"container " + waiting->container + " of pod " + waiting->pod + " can't be created (" +
                     waiting->reason + ": " + waiting->message + ")",
                 "create the Secret or ConfigMap that it names, or take it out of the spec"};
}

Found other_container(const Evidence& in) {
  const auto waiting = first_waiting(in, {"CrashLoopBackOff"});
  if (!waiting) return std::nullopt;
  return Finding{
      "container " + waiting->container + " of pod " + waiting->pod + " ends again and again",
      "read its log: kubectl logs -n " + in.ns + " " + waiting->pod + " -c " + waiting->container + " --previous"};
}

/// The kubelet finds no single NUMA node (topologyManagerPolicy single-numa-node or restricted) with all that a pod
/// asks for. Whoever made the pod makes another at once, which meets the same.
Found topology_affinity(const Evidence& in) {
  const auto refused = [](const Json& pod) {
    return text_at(member(pod, "status"), "phase") == "Failed" &&
           text_at(member(pod, "status"), "reason") == "TopologyAffinityError";
  };
  const std::int64_t count = std::ranges::count_if(in.pods, refused);
  if (count == 0) return std::nullopt;
  const std::int64_t gpus = in.number("/status/gpusPerPod");
  const Json& pod = *std::ranges::find_if(in.pods, refused);
  return Finding{"the kubelet of node " + node_of(pod) + " refused " + counted(count, "pod") +
                     " (TopologyAffinityError): no NUMA node there has " +
                     (gpus > 0 ? counted(gpus, "free GPU") : "the GPUs") +
                     " with the CPUs and the memory that go with them",
                 "ask for fewer GPUs a pod (spec.parallelism.tensor, spec.nodes), or let the platform team set "
                 "topologyManagerPolicy: best-effort on the node, which guarantees no locality"};
}

Found held_by_topology(const Evidence& in) {
  if (in.condition("Stalled", "reason") != "CrossesSYS") return std::nullopt;
  return Finding{in.condition("Stalled", "message"),
                 "delete that pod, which may be given other GPUs, or set spec.topologyCheck to Warn"};
}

Found node_lost(const Evidence& in) {
  for (const Json& pod : in.pods) {
    const std::string node = node_of(pod);
    const auto found = std::ranges::find(in.nodes, node, name_of);
    if (node.empty() || found == in.nodes.end() || text_at(condition_of(*found, "Ready"), "status") == "True") continue;
    return Finding{"node " + node + ", on which pod " + name_of(pod) + " is, does not answer (Ready is " +
                       text_at(condition_of(*found, "Ready"), "status") + ")",
                   "bring the node back; if it is gone for good: kubectl delete node " + node};
  }
  return std::nullopt;
}

}  // namespace

std::string step_for(const Evidence& evidence, const EngineFailure& failure, const std::string& log) {
  if (failure.max_model_len) {
    return "kubectl patch inferencedeployment " + evidence.name + " -n " + evidence.ns +
           R"( --type merge -p '{"spec":{"serving":{"maxModelLen":)" + std::to_string(*failure.max_model_len) + "}}}'";
  }
  if (failure.reason == "EngineFailed" || failure.remedy.empty()) return "read its log: " + log;
  return failure.remedy;
}

std::vector<Rule> rules_of_containers() {
  return {{"NodeLost", node_lost},
          {"TopologyAffinityError", topology_affinity},
          {"EngineEnded", engine_ended},
          {"ImagePull", image_pull},
          {"ContainerConfig", container_config},
          {"ContainerEnds", other_container},
          {"HeldByTopology", held_by_topology}};
}

}  // namespace inference::diagnose
