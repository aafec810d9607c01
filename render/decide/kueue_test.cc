// What is refused and what is said of a queue of Kueue.

#include "render/decide/kueue.h"

#include <gtest/gtest.h>

#include "render/decide/fixtures.h"

namespace inference::render {
namespace {

using namespace fixtures;

const Json kRequests = {{"cpu", "64"}, {"memory", "512Gi"}, {"nvidia.com/gpu", "8"}};

Findings told_of(const QueueFacts& queue, std::int64_t nodes = 2) {
  Findings findings;
  tell_of_queue(settings_of({{"nodes", nodes}, {"scheduling", {{"queue", "lq"}}}}), queue, kRequests, findings);
  return findings;
}

TEST(Queue, IsToldOfByWhatItWouldDoToThePods) {
  using Covered = std::map<std::string, std::vector<std::string>>;
  const Covered topology{{"cpu", {}}, {"memory", {}}, {"nvidia.com/gpu", {}}};
  const Covered flat{{"cpu", {"a"}}, {"memory", {"a"}}, {"nvidia.com/gpu", {"a", "b"}}};
  const Covered less{{"cpu", {}}, {"nvidia.com/gpu", {}}};
  struct Row {
    QueueFacts queue;
    std::int64_t nodes;
    std::vector<std::string> notices;
    std::string words;
  };
  for (const Row& row :
       {Row{{.exists = true, .fault = {}, .covered = topology}, 2, {}, {}},
        Row{{.exists = true, .fault = {}, .covered = {}}, 2, {}, {}},
        Row{{.exists = false, .fault = {}, .covered = {}}, 2, {"QueueNotFound"}, "no LocalQueue lq"},
        Row{{.exists = true, .fault = {}, .covered = flat}, 2, {"QuotaIsNoGang"}, "ResourceFlavor a, b"},
        Row{{.exists = true, .fault = {}, .covered = flat}, 1, {}, {}},
        Row{{.exists = true, .fault = {}, .covered = less}, 2, {"QueueLacksResource"}, "not cover memory:"},
        Row{{.exists = true, .fault = "it is stopped", .covered = topology}, 2, {"QueueNotActive"}, "it is stopped"}}) {
    const Findings findings = told_of(row.queue, row.nodes);
    std::vector<std::string> notices;
    for (const Notice& notice : findings.notices) {
      notices.push_back(notice.reason);
      EXPECT_EQ(notice.path, "spec.scheduling.queue");
      EXPECT_NE(notice.message.find(row.words), std::string::npos) << notice.message;
    }
    EXPECT_EQ(notices, row.notices);
    EXPECT_TRUE(findings.faults.empty());
  }
}

TEST(Queue, NeverCountsClaimedDevicesByNode) {
  const QueueFacts queue{.exists = true, .fault = {}, .covered = {{{"cpu", {}}, {"memory", {}}}}};
  for (const std::int64_t nodes : {1, 2}) {
    Findings findings;
    tell_of_queue(
        settings_of({{"nodes", nodes}, {"accelerator", {{"mode", "DRA"}}}, {"scheduling", {{"queue", "lq"}}}}), queue,
        {{"cpu", "64"}, {"memory", "512Gi"}}, findings);
    EXPECT_EQ(says(findings, "QuotaIsNoGang"), nodes == 2);
    EXPECT_EQ(findings.notices.size(), nodes == 2 ? 1U : 0U);
  }
}

TEST(Queue, LimitsTheNameOfAGroupByTheDigitsOfItsNumber) {
  struct Row {
    std::size_t length;
    std::int64_t nodes, replicas, surge;
    bool refused;
  };
  for (const Row& row : {Row{39, 2, 10, 0, false}, Row{40, 2, 10, 0, true}, Row{39, 2, 10, 1, true},
                         Row{38, 2, 11, 0, false}, Row{39, 2, 0, 0, false}, Row{57, 1, 200, 0, false}}) {
    Findings findings;
    Sizing sizing;
    sizing.nodes.value = row.nodes;
    sizing.replicas.value = row.replicas;
    check_queue_name(std::string(row.length, 'a'), sizing, row.surge, findings);
    EXPECT_EQ(!findings.faults.empty(), row.refused) << row.length << " " << row.replicas;
  }
}

}  // namespace
}  // namespace inference::render
