// Who holds groups in Volcano, and what is refused when nobody does.

#include "render/decide/volcano.h"

#include <gtest/gtest.h>

#include "render/decide/fixtures.h"

namespace inference::render {
namespace {

using namespace fixtures;

TEST(VolcanoGroups, AreHeldByWhomTheyWereHeldElseByWhoWould) {
  using enum VolcanoGroups;
  struct Row {
    VolcanoGroups now;
    std::optional<VolcanoGroups> recorded;
    bool offline;
    VolcanoGroups held;
    std::string refused;  // words of it
    bool notice;
  };
  for (const Row& row :
       {Row{kLeaderWorkerSet, {}, false, kLeaderWorkerSet, "", false}, Row{kOperator, {}, false, kOperator, "", false},
        Row{kAbsent, {}, true, kLeaderWorkerSet, "", false}, Row{kAbsent, {}, false, kAbsent, "install Volcano", false},
        Row{kNobody, {}, false, kNobody, "schedulerProvider: volcano", false},
        Row{kUnknown, {}, false, kUnknown, "no right to try", false},
        Row{kOperator, kOperator, false, kOperator, "", false},
        Row{kOperator, kLeaderWorkerSet, false, kLeaderWorkerSet, "", true},
        Row{kNobody, kOperator, false, kOperator, "", true}}) {
    Findings findings;
    const ClusterFacts cluster{.volcano = row.now, .volcano_fault = "no right to try", .offline = row.offline};
    const Settings settings = settings_of({{"nodes", 2}, {"scheduling", {{"gang", "Volcano"}}}});
    EXPECT_EQ(decide_volcano_groups(settings, cluster, row.recorded, findings), row.held);
    EXPECT_EQ(findings.faults.empty(), row.refused.empty());
    if (!row.refused.empty()) {
      EXPECT_EQ(findings.faults[0].reason, "SchedulerMissing");
      EXPECT_NE(findings.faults[0].error.message.find(row.refused), std::string::npos)
          << findings.faults[0].error.message;
    }
    EXPECT_EQ(says(findings, "GangNotServed"), row.notice);
  }
}

TEST(VolcanoGroups, AskForWhatAllTheirPodsDoWithTheirSidecars) {
  const auto pod = [](const Json& requests) -> Json {
    return {{"spec", {{"containers", {{{"name", "engine"}, {"resources", {{"requests", requests}}}}}}}}};
  };
  Json leader = pod({{"cpu", "64"}, {"memory", "512Gi"}, {"nvidia.com/gpu", "8"}});
  const Json worker = leader;
  leader["spec"]["containers"].push_back({{"name", "exporter"}, {"resources", {{"requests", {{"cpu", "500m"}}}}}});
  const HoleValue sum = requests_of_group(leader, worker, settings_of({{"nodes", 3}}));
  EXPECT_EQ(sum.value, (Json{{"cpu", "192500m"}, {"memory", "1536Gi"}, {"nvidia.com/gpu", "24"}}));
}

}  // namespace
}  // namespace inference::render
