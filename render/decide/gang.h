#pragma once

#include <optional>
#include <string>

#include "crd/inference_deployment.h"
#include "render/findings.h"
#include "render/resolve.h"
#include "render/traced.h"

namespace inference::render {

/// How the pods of a group are placed together, never `kAuto`. One pod is placed alone: `kNone`, or `kKueue` where the
/// spec has it wait for quota.
struct GangChoice {
  Traced<crd::Gang> gang;
  std::optional<VolcanoGroups> volcano_groups;        // who holds the groups; of kVolcano only
  std::optional<Traced<std::string>> scheduler_name;  // of both pod templates
  std::optional<Traced<std::string>> volcano_queue;   // of the groups
  std::optional<Traced<std::string>> kueue_queue;     // of the workload object and not of its pods
  std::optional<Traced<std::string>> label;  // of both pod templates: what the admission policy of config/gang selects
  std::optional<Traced<Json>> gates;         // of both pod templates: the scheduling gate that we lift
};

/// What a living object has.
struct RecordedGang {
  std::optional<crd::Gang> gang;
  std::optional<VolcanoGroups> groups;  // of Volcano
};

/// Takes what the cluster serves, keeps what a living object has, and says so where a group is no gang.
[[nodiscard]] GangChoice decide_gang(const Settings& settings, const ClusterFacts& cluster, RecordedGang recorded,
                                     Findings& findings);

}  // namespace inference::render
