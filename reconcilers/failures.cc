#include "reconcilers/failures.h"

#include <algorithm>
#include <array>

namespace inference::reconcilers {
namespace {

/// Whether what befell pods of this revision speaks of the newest spec.
bool is_current(const Workload& workload, const Pods& pods, const std::string& revision) {
  if (!workload.exists || !workload.current || revision.empty() || pods.newest.empty()) return true;
  // A rollout of a Deployment begins before there is a pod of it; a group that is made anew is counted as none
  // meanwhile.
  const bool begun = workload.kind != "Deployment" || workload.updated > 0;
  return begun && revision == pods.newest;
}

std::string name_of(const Workload& workload, const FailingGroup& group) {
  return "group " + workload.name + "-" + std::to_string(group.index);
}

Failure told(const Workload& workload, const FailingGroup& group) {
  if (group.restarts < 2) return {group.reason, name_of(workload, group) + ", " + group.message};
  return {"GroupRestarting", name_of(workload, group) + " was made anew " + std::to_string(group.restarts) +
                                 " times and has not served for " + std::to_string(kSteady.count()) +
                                 " minutes since: " + group.reason + ": " + group.message};
}

/// A group that fails again and again before one that has failed once; the first time after it has served is none.
std::optional<Failure> failing_group(const Workload& workload, const Pods& pods, const GroupRestarts& groups) {
  const FailingGroup* worst = nullptr;
  for (const FailingGroup& group : groups.failing) {
    if (group.ready_since || !is_current(workload, pods, group.revision)) continue;
    if (group.restarts < 2 && group.served) continue;
    if (worst == nullptr || group.restarts > worst->restarts) worst = &group;
  }
  if (worst == nullptr) return std::nullopt;
  return told(workload, *worst);
}

}  // namespace

std::optional<Failure> first_failure(const Workload& workload, const Pods& pods, const GroupRestarts* groups) {
  const auto first = [&](PodProblem::Kind kind) {
    const auto found = std::ranges::find_if(pods.problems, [&](const PodProblem& problem) {
      return problem.kind == kind && is_current(workload, pods, problem.revision);
    });
    return found == pods.problems.end() ? nullptr : &*found;
  };
  static constexpr std::array kKinds = {std::pair{PodProblem::Kind::kImage, "ImagePullFailed"},
                                        std::pair{PodProblem::Kind::kConfig, "ContainerConfigInvalid"}};
  for (const auto& [kind, reason] : kKinds) {
    if (const PodProblem* problem = first(kind)) return Failure{reason, where(*problem)};
  }
  if (groups != nullptr) {
    if (auto failure = failing_group(workload, pods, *groups)) return failure;
  }
  if (const PodProblem* problem = first(PodProblem::Kind::kCrash)) return Failure{problem->reason, where(*problem)};
  return std::nullopt;
}

std::optional<std::string> pausing_group(const Workload& workload, const GroupRestarts& groups) {
  for (const FailingGroup& group : groups.failing) {
    if (!group.held || group.placed) continue;
    return name_of(workload, group) + " was made anew " + std::to_string(group.restarts) + " times and pauses until " +
           to_rfc3339(group.not_before());
  }
  return std::nullopt;
}

}  // namespace inference::reconcilers
