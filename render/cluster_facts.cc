#include "render/cluster_facts.h"

#include <algorithm>
#include <string_view>

namespace inference::render {

ClusterFacts cluster_facts(const std::vector<std::string>& names) {
  const auto named = [&names](std::string_view name) { return std::ranges::find(names, name) != names.end(); };
  ClusterFacts facts;
  facts.offline = names.empty();
  if (named("volcano")) facts.volcano = VolcanoGroups::kLeaderWorkerSet;
  if (named("volcano-policy")) facts.volcano = VolcanoGroups::kOperator;
  facts.native_gang = named("native");
  facts.compute_domain = named("compute-domain");
  facts.dra = named("dra") || facts.compute_domain;
  const bool holds_groups = facts.volcano != VolcanoGroups::kAbsent;
  facts.kueue = named("kueue");
  if (facts.kueue) facts.queue = QueueFacts{.exists = true, .fault = {}, .covered = {}};
  facts.leader_worker_set = named("lws") || holds_groups || facts.native_gang || facts.kueue;
  return facts;
}

}  // namespace inference::render
