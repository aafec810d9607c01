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
  const ClusterFacts native{.leader_worker_set = true, .native_gang = true, .volcano = VolcanoGroups::kOperator};
  const ClusterFacts volcano{.leader_worker_set = true, .volcano = VolcanoGroups::kLeaderWorkerSet};
  const ClusterFacts unheld{.leader_worker_set = true, .volcano = VolcanoGroups::kNobody};
  for (const Row& row :
       {Row{"Auto", native, {}, kNative, ""}, Row{"Auto", volcano, {}, kVolcano, ""},
        Row{"Auto", nothing, {}, kGates, "BestEffortGang"}, Row{"Auto", unheld, {}, kGates, "BestEffortGang"},
        Row{"Auto", native, kGates, kGates, "BestEffortGang"}, Row{"Gates", native, {}, kGates, ""},
        Row{"Gates", nothing, kNone, kGates, ""}, Row{"Auto", native, kVolcano, kVolcano, ""},
        Row{"Auto", native, kNone, kNone, "NotAGang"}, Row{"Auto", nothing, kNative, kNative, "GangNotServed"},
        Row{"None", native, {}, kNone, ""}, Row{"Volcano", native, kNative, kVolcano, ""}}) {
    Findings findings;
    const Settings settings =
        settings_of({{"nodes", 2}, {"parallelism", {{"tensor", 8}}}, {"scheduling", {{"gang", row.asked}}}});
    const GangChoice choice = decide_gang(settings, row.cluster, {row.recorded, {}}, findings);
    EXPECT_EQ(choice.gang.value, row.gang) << row.asked;
    EXPECT_EQ(row.notice.empty() ? findings.notices.empty() : says(findings, row.notice), true) << row.asked;
    EXPECT_TRUE(findings.faults.empty());
    EXPECT_EQ(choice.scheduler_name.has_value(), row.gang == kVolcano);
    const bool by_us = choice.volcano_groups == VolcanoGroups::kOperator;
    EXPECT_EQ(choice.label.has_value(), row.gang == kNative || row.gang == kGates || by_us);
    EXPECT_EQ(choice.volcano_groups.has_value(), row.gang == kVolcano);
    EXPECT_EQ(choice.gates.has_value(), row.gang == kGates);
  }
}

TEST(Gang, RefusesWhatTheClusterLacksOnceItIsNamed) {
  for (const char* asked : {"Native", "Volcano"}) {
    const Settings settings = settings_of({{"nodes", 2}, {"scheduling", {{"gang", asked}}}});
    Findings findings;
    (void)decide_gang(settings, {.leader_worker_set = true}, {}, findings);
    const bool native = std::string_view(asked) == "Native";
    EXPECT_TRUE(refuses(findings, native ? "ClusterLacksGang" : "SchedulerMissing", "spec.scheduling.gang")) << asked;
    Findings offline;
    (void)decide_gang(settings, {.offline = true}, {}, offline);
    EXPECT_TRUE(offline.faults.empty()) << asked;
  }
}

TEST(Gang, TakesKueueOnlyWithAQueue) {
  using enum crd::Gang;
  const ClusterFacts kueue{.leader_worker_set = true, .native_gang = true, .kueue = true};
  ClusterFacts with_queue = kueue;
  with_queue.queue = QueueFacts{.exists = true, .fault = {}, .covered = {}};
  ClusterFacts without_queue = kueue;
  without_queue.queue = QueueFacts{};
  struct Row {
    Json scheduling;
    std::int64_t nodes;
    ClusterFacts cluster;
    std::optional<crd::Gang> recorded;
    crd::Gang gang;
    std::string refused;
    std::string notice;
  };
  const Json queue = {{"queue", "lq"}};
  for (const Row& row :
       {Row{queue, 2, with_queue, {}, kKueue, "", ""}, Row{queue, 2, without_queue, {}, kNative, "", "QueueNotUsed"},
        Row{queue, 1, with_queue, {}, kNone, "", "QueueNotUsed"},
        Row{queue, 2, with_queue, kGates, kGates, "", "QueueNotUsed"},
        Row{queue, 2, without_queue, kKueue, kKueue, "", ""},
        Row{queue, 2, {.leader_worker_set = true}, kKueue, kKueue, "", "GangNotServed"},
        Row{Json::object(), 2, kueue, kKueue, kKueue, "QueueMissing", ""},
        Row{{{"gang", "Kueue"}, {"queue", "lq"}}, 2, without_queue, kNone, kKueue, "", ""},
        Row{{{"gang", "Kueue"}, {"queue", "lq"}}, 1, with_queue, {}, kKueue, "", ""},
        Row{{{"gang", "Kueue"}}, 2, kueue, {}, kKueue, "QueueMissing", ""},
        Row{{{"gang", "Kueue"}, {"queue", "lq"}}, 1, {}, {}, kKueue, "ClusterLacksGang", ""},
        Row{{{"gang", "Kueue"}, {"queue", "lq"}}, 2, {.offline = true}, {}, kKueue, "", ""}}) {
    Findings findings;
    const GangChoice choice = decide_gang(settings_of({{"nodes", row.nodes}, {"scheduling", row.scheduling}}),
                                          row.cluster, {row.recorded, {}}, findings);
    const std::string what = row.scheduling.dump() + std::to_string(row.nodes);
    EXPECT_EQ(choice.gang.value, row.gang) << what;
    EXPECT_EQ(findings.faults.empty() ? "" : findings.faults.front().reason, row.refused) << what;
    EXPECT_EQ(row.notice.empty() ? findings.notices.empty() : says(findings, row.notice), true) << what;
    EXPECT_EQ(choice.kueue_queue.has_value(), row.gang == kKueue && row.scheduling.contains("queue")) << what;
    EXPECT_FALSE(choice.volcano_queue || choice.scheduler_name) << what;
    EXPECT_EQ(choice.label.has_value(), row.gang == kNative || row.gang == kGates) << what;
  }
}

TEST(Gang, IsNoneForOnePod) {
  Findings findings;
  const GangChoice choice = decide_gang(settings_of({{"scheduling", {{"gang", "Volcano"}, {"queue", "q"}}}}),
                                        {.volcano = VolcanoGroups::kOperator}, {}, findings);
  EXPECT_EQ(choice.gang.value, crd::Gang::kNone);
  EXPECT_TRUE(says(findings, "QueueNotUsed"));
}

}  // namespace
}  // namespace inference::render
