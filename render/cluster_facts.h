#pragma once

#include <string>
#include <vector>

#include "render/render.h"

namespace inference::render {

/// What the cluster is taken to serve. Without names: offline, that is LeaderWorkerSets and a gang asked for by name
/// are taken as served, and `Auto` finds no gang. `volcano`, `volcano-policy`, `native` and `kueue`, which then has
/// every queue, imply `lws`, without which there are no groups to schedule.
[[nodiscard]] ClusterFacts cluster_facts(const std::vector<std::string>& names);

}  // namespace inference::render
