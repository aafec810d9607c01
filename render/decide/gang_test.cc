// How the pods of a group are placed together: what the cluster serves, what is named, and what is said about it.

#include "render/decide/gang.h"

#include <gtest/gtest.h>

#include "render/decide/fixtures.h"

namespace inference::render {
namespace {

using namespace fixtures;

TEST(Gang, TakesWhatTheClusterServes) {
  using enum crd::Gang;
  struct Row {
    const char* asked;
    ClusterFacts cluster;
    std::optional<crd::Gang> recorded;
    crd::Gang gang;
    std::string notice;
  };
  const ClusterFacts nothing{.leader_worker_set = true};
  const ClusterFacts native{.leader_worker_set = true, .native_gang = true, .volcano = true};
  const ClusterFacts volcano{.leader_worker_set = true, .volcano = true};
  for (const Row& row :
       {Row{"Auto", native, {}, kNative, ""}, Row{"Auto", volcano, {}, kVolcano, ""},
        Row{"Auto", nothing, {}, kGates, "BestEffortGang"}, Row{"Auto", native, kGates, kGates, "BestEffortGang"},
        Row{"Gates", native, {}, kGates, ""}, Row{"Gates", nothing, kNone, kGates, ""},
        Row{"Auto", native, kVolcano, kVolcano, ""}, Row{"Auto", native, kNone, kNone, "NotAGang"},
        Row{"Auto", nothing, kNative, kNative, "GangNotServed"}, Row{"None", native, {}, kNone, ""},
        Row{"Volcano", native, kNative, kVolcano, ""}}) {
    Findings findings;
    const Settings settings =
        settings_of({{"nodes", 2}, {"parallelism", {{"tensor", 8}}}, {"scheduling", {{"gang", row.asked}}}});
    const GangChoice choice = decide_gang(settings, row.cluster, row.recorded, findings);
    EXPECT_EQ(choice.gang.value, row.gang) << row.asked;
    EXPECT_EQ(row.notice.empty() ? findings.notices.empty() : says(findings, row.notice), true) << row.asked;
    EXPECT_TRUE(findings.faults.empty());
    EXPECT_EQ(choice.scheduler_name.has_value(), row.gang == kVolcano);
    EXPECT_EQ(choice.label.has_value(), row.gang == kNative || row.gang == kGates);
    EXPECT_EQ(choice.gates.has_value(), row.gang == kGates);
  }
}

TEST(Gang, RefusesWhatTheClusterLacksOnceItIsNamed) {
  for (const char* asked : {"Native", "Volcano"}) {
    const Settings settings = settings_of({{"nodes", 2}, {"scheduling", {{"gang", asked}}}});
    Findings findings;
    (void)decide_gang(settings, {.leader_worker_set = true}, {}, findings);
    EXPECT_TRUE(refuses(findings, "ClusterLacksGang", "spec.scheduling.gang")) << asked;
    Findings offline;
    (void)decide_gang(settings, {.offline = true}, {}, offline);
    EXPECT_TRUE(offline.faults.empty()) << asked;
  }
  Findings findings;
  (void)decide_gang(settings_of({{"nodes", 2}, {"scheduling", {{"gang", "Kueue"}}}}), {}, {}, findings);
  EXPECT_TRUE(refuses(findings, "NotSupported", "spec.scheduling.gang"));
}

TEST(Gang, IsNoneForOnePod) {
  Findings findings;
  const GangChoice choice = decide_gang(settings_of({{"scheduling", {{"gang", "Volcano"}, {"queue", "q"}}}}),
                                        {.volcano = true}, {}, findings);
  EXPECT_EQ(choice.gang.value, crd::Gang::kNone);
  EXPECT_TRUE(says(findings, "QueueNotUsed"));
}

}  // namespace
}  // namespace inference::render
