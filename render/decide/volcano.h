#pragma once

#include <optional>

#include "render/findings.h"
#include "render/resolve.h"
#include "render/traced.h"

namespace inference::render {

[[nodiscard]] bool holds_groups(VolcanoGroups groups);

/// Who is to hold the groups in Volcano: who does so for those that run, else who would. Refuses where nobody would.
[[nodiscard]] VolcanoGroups decide_volcano_groups(const Settings& settings, const ClusterFacts& cluster,
                                                  std::optional<VolcanoGroups> recorded, Findings& findings);

/// What one leader and the workers of a group ask for together, sidecars included.
[[nodiscard]] HoleValue requests_of_group(const Json& leader, const Json& worker, const Settings& settings);

}  // namespace inference::render
