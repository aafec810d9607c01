#include "diagnose/diagnosis.h"

#include <algorithm>
#include <iterator>

#include "base/json_members.h"
#include "diagnose/container_end.h"
#include "diagnose/rules.h"

namespace inference::diagnose {
namespace {

/// "ErrImagePull: …", "ended with exit code 1: ContextTooLong", of the first container that has something to say.
std::string why_of_containers(const Json& pod) {
  for (const char* list : {"initContainerStatuses", "containerStatuses"}) {
    for (const Json& status : member(member(pod, "status"), list)) {
      const std::string name = text_at(status, "name");
      if (name == kEngineContainer) {
        if (const auto end = read_container_end(pod, status)) {
          return "engine ended with exit code " + std::to_string(end->words.exit_code) + ": " +
                 read_last_words(end->words).reason;
        }
      }
      const Json& waiting = member(member(status, "state"), "waiting");
      const std::string reason = text_at(waiting, "reason");
      if (!reason.empty() && reason != "PodInitializing" && reason != "ContainerCreating") return name + ": " + reason;
    }
  }
  return {};
}

std::string why(const Json& pod) {
  constexpr std::size_t kShort = 120;
  if (is_leaving(pod) || is_ready(pod)) return {};
  const Json& status = member(pod, "status");
  if (has_ended(pod)) {
    const std::string reason = text_at(status, "reason");
    return reason + (reason.empty() ? "" : ": ") + quotable(text_at(status, "message"), kShort);
  }
  if (const std::string refused = refusal_of(pod); !refused.empty()) return quotable(refused, kShort);
  const Json& gates = member(member(pod, "spec"), "schedulingGates");
  if (gates.is_array() && !gates.empty()) return "held by the scheduling gate " + text_at(gates.front(), "name");
  if (node_of(pod).empty())
    return member(pod, "spec").contains("schedulingGroup") ? "waits for its group"
                                                           : "not looked at by the scheduler yet";
  if (std::string told = why_of_containers(pod); !told.empty()) return told;
  return "not ready yet";
}

}  // namespace

const std::vector<Rule>& rules() {
  static const std::vector<Rule> kRules = [] {
    std::vector<Rule> all;
    for (auto list : {rules_of_objects(), rules_of_containers(), rules_of_scheduling(), rules_of_progress()})
      std::ranges::move(list, std::back_inserter(all));
    return all;
  }();
  return kRules;
}

Diagnosis diagnose(const Evidence& evidence) {
  Diagnosis result;
  result.ready = evidence.condition("Ready", "status") == "True" && !is_leaving(evidence.object) &&
                 evidence.number("/status/observedGeneration") >= evidence.number("/metadata/generation");
  for (const Rule& rule : rules()) {
    if (auto finding = rule.look(evidence)) {
      result.rule = rule.name;
      result.finding = std::move(*finding);
      return result;
    }
  }
  result.rule = "Unexplained";
  result.finding.cause = evidence.condition("Ready", "reason") + ": " + evidence.condition("Ready", "message");
  result.finding.next = "look at its events: kubectl get events -n " + evidence.ns;
  return result;
}

std::vector<Row> rows(const Evidence& evidence) {
  std::vector<Row> all;
  for (const Json& pod : evidence.pods) {
    const std::string phase = text_at(member(pod, "status"), "phase");
    all.push_back({.group = group_of(pod),
                   .pod = name_of(pod),
                   .node = node_of(pod),
                   .phase = is_leaving(pod) ? "Terminating"
                            : phase.empty() ? "Pending"
                                            : phase,
                   .why = why(pod)});
  }
  std::ranges::sort(all, {}, [](const Row& row) { return std::pair(row.group, row.pod); });
  return all;
}

}  // namespace inference::diagnose
