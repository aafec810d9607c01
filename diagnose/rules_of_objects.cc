#include <algorithm>
#include <map>

#include "base/json_members.h"
#include "base/wording.h"
#include "diagnose/engine_failure.h"
#include "diagnose/rules.h"

namespace inference::diagnose {
namespace {

using Found = std::optional<Finding>;

Found not_there(const Evidence& in) {
  if (!in.object.is_null()) return std::nullopt;
  return Finding{"there is no InferenceDeployment of this name in namespace " + in.ns,
                 "look for it: kubectl get inferencedeployments -A"};
}

/// On its way out: what is still there, and what holds it.
Found deleting(const Evidence& in) {
  if (!is_leaving(in.object)) return std::nullopt;
  std::vector<std::string> holders;
  for (const Json& finalizer : member(member(in.object, "metadata"), "finalizers")) {
    if (finalizer.is_string()) holders.push_back(finalizer.get<std::string>());
  }
  std::string cause = "it is being deleted";
  if (!in.pods.empty()) {
    cause += ", and " + counted(std::ssize(in.pods), "pod") + (in.pods.size() == 1 ? " is" : " are") + " still there";
  }
  std::erase(holders, "foregroundDeletion");
  if (holders.empty()) return Finding{std::move(cause), "wait: pods drain for up to their grace period before they go"};
  return Finding{cause + "; held by " + (holders.size() == 1 ? "finalizer " : "finalizers ") + joined(holders),
                 "let the controller that set it run, or remove it from metadata.finalizers if that is gone for good"};
}

Found not_looked_at(const Evidence& in) {
  if (in.number("/status/observedGeneration") >= in.number("/metadata/generation") &&
      member(in.object, "status").is_object())
    return std::nullopt;
  return Finding{"the operator has not looked at it yet",
                 "check that the operator runs: kubectl get lease inference-operator -n inference-system"};
}

Found refused(const Evidence& in) {
  if (in.condition("Resolved", "status") != "False") return std::nullopt;
  const std::string reason = in.condition("Resolved", "reason");
  static const std::map<std::string, std::string, std::less<>> kNext = {
      {"ClusterLacksLeaderWorkerSet", "install LeaderWorkerSet (lws.sigs.k8s.io), or set spec.nodes to 1"},
      {"ClusterLacksGang", "name a spec.scheduling.gang that the cluster has, or install what it lacks"},
      {"SchedulerMissing", "install what it names, or choose another spec.scheduling.gang"},
      {"ProfileNotFound", "create that InferenceProfile, or correct spec.profileRef.name"},
      {"ProfileInvalid", "let the platform team correct the profile"},
      {"ProfileAmbiguous", "name one in spec.profileRef.name"},
      {"FieldLocked", "leave the field to the profile, or ask the platform team to unlock it"},
      {"NameTooLong", "create it under a shorter name"},
  };
  const auto next = kNext.find(reason);
  const bool serves = in.number("/status/readyReplicas") > 0;
  return Finding{"its spec is refused (" + reason + "), " +
                     (serves ? "and what runs stays as it is" : "so nothing runs") + ": " +
                     in.condition("Resolved", "message"),
                 next == kNext.end() ? "correct the spec; kubectl inference validate checks a file" : next->second};
}

/// The condition Stalled with this reason.
Found stalled(const Evidence& in, const char* reason, const char* next) {
  if (in.condition("Stalled", "reason") != reason) return std::nullopt;
  return Finding{in.condition("Stalled", "message"), next};
}

Found conflict(const Evidence& in) {
  return stalled(
      in, "Conflict",
      "remove or rename that object if nobody needs it, or create the model under another name; the operator "
      "looks again within 30 s");
}

Found invalid(const Evidence& in) {
  return stalled(in, "Invalid", "correct what the API server names, most likely in spec.podTemplate");
}

Found forbidden(const Evidence& in) {
  const bool quota = in.condition("Stalled", "message").find("exceeded quota") != std::string::npos;
  return stalled(in, "Forbidden",
                 quota ? "raise the namespace's ResourceQuota, or remove what uses it up"
                       : "give the operator its rights: kubectl apply --server-side -k config/rbac; it looks again "
                         "within a minute");
}

/// Why it does not heal, by the operator's own rules, while nothing of it shows in the pods at this moment.
Found group_restarting(const Evidence& in) {
  if (in.condition("Stalled", "reason") != "GroupRestarting") return std::nullopt;
  const std::string message = in.condition("Stalled", "message");
  return Finding{message, step_for(in, read_last_words({.exit_code = 1, .message = message}),
                                   "kubectl logs -n " + in.ns + " " + in.name + "-0 -c engine -f, while it runs")};
}

Found suspended(const Evidence& in) {
  if (in.condition("Ready", "reason") != "Suspended") return std::nullopt;
  const bool by_hand = member(member(in.object, "spec"), "suspend") == true;
  return Finding{
      std::string("it serves nothing, as asked for: ") + (by_hand ? "spec.suspend is true" : "spec.replicas is 0"),
      by_hand ? "set spec.suspend to false to serve again" : "raise spec.replicas to serve again"};
}

Found ready(const Evidence& in) {
  if (in.condition("Ready", "status") != "True") return std::nullopt;
  std::string cause = "it serves: " + in.condition("Ready", "message");
  if (in.condition("TopologyVerified", "status") != "False") return Finding{std::move(cause), ""};
  return Finding{cause + "; but its GPUs are linked badly: " + in.condition("TopologyVerified", "message"),
                 "delete that pod, which may be given other GPUs, or set spec.topologyCheck to Enforce"};
}

}  // namespace

std::vector<Rule> rules_of_objects() {
  return {{"NotThere", not_there},
          {"Deleting", deleting},
          {"NotLookedAt", not_looked_at},
          {"Refused", refused},
          {"Conflict", conflict},
          {"Invalid", invalid},
          {"Forbidden", forbidden},
          {"Suspended", suspended},
          {"Ready", ready},
          {"GroupRestarting", group_restarting}};
}

}  // namespace inference::diagnose
