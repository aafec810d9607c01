#include <gtest/gtest.h>

#include "reconcilers/fixtures.h"
#include "reconcilers/status.h"

namespace inference::reconcilers {
namespace {

using namespace fixtures;

/// What the pods of case 3 of two GPUs each say.
PodTopology says(const char* pod, const char* matrix, bool is_held = false) {
  return {.pod = pod,
          .verdict = topology::judge(topology::read_record(std::string("tensor=2 gpus=2\n") + matrix)),
          .held = is_held};
}
constexpr const char* kSys = "GPU0 GPU1\nGPU0 X SYS\nGPU1 SYS X\n";
constexpr const char* kNv12 = "GPU0 GPU1\nGPU0 X NV12\nGPU1 NV12 X\n";
constexpr const char* kPhb = "GPU0 GPU1\nGPU0 X PHB\nGPU1 PHB X\n";

TEST(Status, TopologyIsVerifiedByThePodsOwnReports) {
  struct Row {
    const char* says;
    const char* check;
    std::int64_t tensor;
    std::int64_t ready;
    std::vector<PodTopology> pods;
    const char* verified;
    const char* is_ready;
    const char* message;  // a part of TopologyVerified's
  };
  const PodTopology silent{.pod = "m-9", .verdict = {}, .held = false};
  for (const Row& row : {
           Row{"off", "Off", 2, 6, {}, "Unknown/NotChecked", "True/AllReplicasReady", "is off"},
           Row{"one GPU", "Warn", 1, 6, {}, "True/SingleGPU", "True/AllReplicasReady", "no two GPUs"},
           Row{"no pods yet", "Warn", 2, 0, {}, "Unknown/NotReported", "Unknown/PodsMissing", "0 of 0"},
           Row{"some are silent",
               "Warn",
               2,
               0,
               {says("m-0", kNv12), silent},
               "Unknown/NotReported",
               "Unknown/Loading",
               "1 of 2 pods"},
           Row{"pairs", "Warn", 2, 6, {says("m-0", kNv12)}, "True/NVLink", "True/AllReplicasReady", "NV12"},
           Row{"pairs, enforced",
               "Enforce",
               2,
               6,
               {says("m-0", kNv12)},
               "True/NVLink",
               "True/AllReplicasReady",
               "NV12"},
           Row{"the weakest speaks for all",
               "Warn",
               2,
               6,
               {says("m-0", kNv12), says("m-1", kPhb)},
               "True/SameSocket",
               "True/AllReplicasReady",
               "PHB"},
           Row{"two answers",
               "Warn",
               2,
               6,
               {says("m-0", kNv12), says("m-1", kSys)},
               "False/CrossesSYS",
               "True/AllReplicasReady",
               "pod m-1: GPU0-GPU1 can only meet"},
           Row{"a bad one and a silent one",
               "Warn",
               2,
               0,
               {says("m-0", kSys), silent},
               "False/CrossesSYS",
               "Unknown/Loading",
               "pod m-0"},
           Row{"unreadable",
               "Warn",
               2,
               6,
               {says("m-0", kNv12), says("m-1", "")},
               "Unknown/NotReadable",
               "True/AllReplicasReady",
               "pod m-1: the output of nvidia-smi is empty"},
           Row{"held",
               "Enforce",
               2,
               5,
               {says("m-0", kNv12), says("m-1", kSys, true)},
               "False/CrossesSYS",
               "False/CrossesSYS",
               "pod m-1: GPU0-GPU1"},
           Row{"held since nothing is known",
               "Enforce",
               2,
               5,
               {says("m-1", "", true)},
               "Unknown/NotReadable",
               "Unknown/NotReadable",
               "pod m-1"},
           Row{"an old pod while Warn becomes Enforce",
               "Enforce",
               2,
               5,
               {says("m-1", kSys)},
               "False/CrossesSYS",
               "Unknown/Loading",
               "pod m-1"},
       }) {
    render::Rendered rendered = six_replicas();
    rendered.resolved = {{"gpusPerPod", 2}, {"parallelism", {{"tensor", row.tensor}}}, {"topologyCheck", row.check}};
    StatusInput in{.generation = 1, .rendered = &rendered, .workload = serving(row.ready)};
    const auto total = static_cast<std::int64_t>(row.pods.size());
    in.pods = {.total = total, .placed = total == 0 && row.ready == 0 ? 0 : 6, .problems = {}, .topology = row.pods};
    const Json status = compute_status(in, kThen);
    EXPECT_EQ(verdict(status, "TopologyVerified"), row.verified) << row.says;
    EXPECT_EQ(verdict(status, "Ready"), row.is_ready) << row.says;
    EXPECT_EQ(verdict(status, "Stalled"),
              std::string(row.is_ready) == "False/CrossesSYS" ? "True/CrossesSYS" : "absent")
        << row.says;
    const std::string message = condition(status, "TopologyVerified")["message"];
    EXPECT_NE(message.find(row.message), std::string::npos) << row.says << ": " << message;
  }
}

TEST(Status, BadLinksAreToldInOneEvent) {
  render::Rendered rendered = six_replicas();
  rendered.resolved = {{"gpusPerPod", 2}, {"parallelism", {{"tensor", 2}}}, {"topologyCheck", "Warn"}};
  StatusInput in{.generation = 1, .rendered = &rendered, .workload = serving(0)};
  in.pods = {.total = 1, .placed = 6, .problems = {}, .topology = {}};
  const Json before = compute_status(in, kThen);
  for (const bool held : {false, true}) {
    in.pods.topology = {says("m-0", kSys, held)};
    const Json after = compute_status(in, kThen);
    const auto told = transitions(&before, after);
    ASSERT_EQ(told.size(), 1U) << held;
    EXPECT_TRUE(told[0].warning);
    EXPECT_EQ(told[0].reason, "CrossesSYS");
    EXPECT_TRUE(transitions(&after, after).empty());
  }
}

}  // namespace
}  // namespace inference::reconcilers
