#include "render/decide/volcano.h"

#include <string>

#include "crd/amounts.h"

namespace inference::render {

namespace {

constexpr const char* kWaysToHold =
    "install config/gang of this operator, or turn on LeaderWorkerSet's own way "
    "(gangSchedulingManagement.schedulerProvider: volcano)";

std::string who(VolcanoGroups groups) {
  return groups == VolcanoGroups::kOperator ? "the admission policy of config/gang" : "LeaderWorkerSet's provider";
}

}  // namespace

std::string to_string(VolcanoGroups groups) {
  switch (groups) {
    case VolcanoGroups::kLeaderWorkerSet:
      return "LeaderWorkerSet";
    case VolcanoGroups::kOperator:
      return "Operator";
    case VolcanoGroups::kAbsent:
    case VolcanoGroups::kUnknown:
    case VolcanoGroups::kNobody:
      return "";
  }
  return "";
}

bool holds_groups(VolcanoGroups groups) {
  return groups == VolcanoGroups::kLeaderWorkerSet || groups == VolcanoGroups::kOperator;
}

VolcanoGroups decide_volcano_groups(const Settings& settings, const ClusterFacts& cluster,
                                    std::optional<VolcanoGroups> recorded, Findings& findings) {
  const std::string& path = settings.gang.path;
  const VolcanoGroups now = cluster.volcano;
  if (recorded) {
    if (now != *recorded && !cluster.offline) {
      findings.notice("GangNotServed", path,
                      "the groups run with PodGroups that " + who(*recorded) +
                          " gives them, and are kept so, but it seems to do so no more");
    }
    return *recorded;
  }
  if (holds_groups(now)) return now;
  // Offline: as on a cluster where only the scheduler's name is ours.
  if (cluster.offline) return VolcanoGroups::kLeaderWorkerSet;
  constexpr const char* kReason = "SchedulerMissing";
  if (now == VolcanoGroups::kAbsent) {
    findings.refuse(kReason, path,
                    "the cluster has no PodGroups of scheduling.volcano.sh/v1beta1: install Volcano, or use Auto, "
                    "Native, Kueue, Gates or None");
  } else if (now == VolcanoGroups::kNobody) {
    findings.refuse(kReason, path,
                    std::string("the cluster has Volcano, but nobody would give the pods of a group one PodGroup, and "
                                "groups would deadlock: ") +
                        kWaysToHold);
  } else {
    findings.refuse(kReason, path,
                    "whether anybody would give the pods of a group one PodGroup of Volcano could not be found out: " +
                        cluster.volcano_fault);
  }
  return now;
}

HoleValue requests_of_group(const Json& leader, const Json& worker, const Settings& settings) {
  crd::Amounts sums = crd::requests_of(leader);
  for (const auto& [name, amount] : crd::requests_of(worker))
    sums[name] = sums[name] + amount * (settings.nodes.value - 1);
  sums.erase("pods");  // nothing that a queue of Volcano counts
  Json list = Json::object();
  for (const auto& [name, amount] : sums) list[name] = amount.to_string();
  return {.value = std::move(list),
          .reason = {.rule = "min_resources",
                     .text = "requests of all pods of a group",
                     .inputs = {settings.nodes.path, "spec.resources"},
                     .source = {}},
          .parts = {}};
}

}  // namespace inference::render
