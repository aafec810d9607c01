#include <algorithm>

#include "base/json_members.h"
#include "diagnose/rules.h"

namespace inference::diagnose {
namespace {

using Found = std::optional<Finding>;

std::string logs(const Evidence& in) {
  const auto pod =
      std::ranges::find_if(in.pods, [](const Json& each) { return !is_ready(each) && !node_of(each).empty(); });
  const std::string name = pod == in.pods.end() ? "POD" : name_of(*pod);
  return "kubectl logs -n " + in.ns + " " + name + " -c engine -f";
}

/// Why pods can't be made: the Deployment's own condition, or the StatefulSets' events.
std::string create_failure(const Evidence& in) {
  if (text_at(condition_of(in.workload, "ReplicaFailure"), "status") == "True")
    return text_at(condition_of(in.workload, "ReplicaFailure"), "message");
  for (auto event = in.events.rbegin(); event != in.events.rend(); ++event) {
    if (text_at(*event, "reason") == "FailedCreate") return text_at(*event, "note");
  }
  return {};
}

Found pods_cannot_be_made(const Evidence& in) {
  const bool missing = std::ssize(in.pods) <
                       in.number("/status/desiredReplicas") * std::max<std::int64_t>(in.number("/status/nodes"), 1);
  const std::string why = missing ? create_failure(in) : "";
  if (why.empty()) return std::nullopt;
  std::string next = "change what the API server names";
  if (why.find("exceeded quota") != std::string::npos) {
    next = "raise the namespace's ResourceQuota, or remove what uses it up: kubectl describe quota -n " + in.ns;
  } else if (why.find("violates PodSecurity") != std::string::npos) {
    next =
        "allow it in the namespace's pod-security.kubernetes.io/enforce label, or change spec.podTemplate and "
        "spec.model.uri (a folder of the node needs hostPath)";
  } else if (why.find("serviceaccount") != std::string::npos) {
    next = "create the service account that spec.podTemplate names";
  }
  return Finding{"its pods can't be made: " + quotable(why), std::move(next)};
}

Found paused(const Evidence& in) {
  if (in.condition("Ready", "reason") != "Paused") return std::nullopt;
  return Finding{in.condition("Ready", "message"), "kubectl rollout resume deployment " + in.name + " -n " + in.ns};
}

/// What the operator says of it where no pod shows anything more at this moment.
Found stalled(const Evidence& in) {
  if (in.condition("Stalled", "status") != "True") return std::nullopt;
  const std::string message = in.condition("Stalled", "message");
  const EngineFailure failure = read_last_words({.exit_code = 1, .message = message});
  return Finding{in.condition("Stalled", "reason") + ": " + message, step_for(in, failure, logs(in))};
}

Found loading(const Evidence& in) {
  const std::string reason = in.condition("Ready", "reason");
  if (reason != "Loading" && reason != "Stabilizing") return std::nullopt;
  const std::int64_t budget = in.number("/status/resolved/startup/timeoutSeconds");
  return Finding{"it is loading: " + in.condition("Ready", "message"),
                 "wait" + (budget > 0 ? " (a start may take " + std::to_string(budget) + " s)" : std::string()) +
                     ", and watch: " + logs(in)};
}

Found beginning(const Evidence& in) {
  const std::string reason = in.condition("Ready", "reason");
  if (reason != "Applying" && reason != "PodsMissing" && reason != "NoPods") return std::nullopt;
  return Finding{"it has only begun: " + in.condition("Ready", "message"),
                 "look again in some seconds; if it stays so: kubectl get events -n " + in.ns};
}

}  // namespace

std::vector<Rule> rules_of_progress() {
  return {{"PodsCannotBeMade", pods_cannot_be_made},
          {"Paused", paused},
          {"Stalled", stalled},
          {"Loading", loading},
          {"Beginning", beginning}};
}

}  // namespace inference::diagnose
