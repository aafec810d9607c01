#include "topology/pod_report.h"

#include <gtest/gtest.h>

namespace inference::topology {
namespace {

constexpr const char* kGood = "tensor=2 gpus=2\n GPU0 GPU1\nGPU0 X NV4\nGPU1 NV4 X\n";
constexpr const char* kBad = "tensor=2 gpus=2\n GPU0 GPU1\nGPU0 X SYS\nGPU1 SYS X\n";

Json status(const char* name, const Json& state) {
  return {{"name", name}, {"state", state}};
}
Json ended(const char* message) {
  return {{"terminated", {{"exitCode", 0}, {"message", message}}}};
}
Json pod(const Json& statuses) {
  return {{"status", {{"initContainerStatuses", statuses}}}};
}
const Json kRuns = {{"running", {{"startedAt", "2026-11-30T12:00:00Z"}}}};
const Json kWaits = {{"waiting", {{"reason", "PodInitializing"}}}};

TEST(ReadPodReport, FindsNothingInAPodWithoutACheck) {
  for (const Json& none : {Json(), Json::object(), pod(nullptr), pod(Json::array()), pod("text"), pod({{{"name", 7}}}),
                           pod({status("fetch", ended(kGood))})})
    EXPECT_FALSE(read_pod_report(none).has_value()) << none;
}

TEST(ReadPodReport, TakesTheNewestReportAndSeesWhoIsHeld) {
  struct Row {
    const char* says;
    Json statuses;
    std::string reason;  // empty: there is no record yet
    bool held;
  };
  for (const Row& row : {
           Row{"not started", {status(kCheckContainer, kWaits)}, "", false},
           Row{"looking", {status(kCheckContainer, kRuns)}, "", false},
           Row{"reported", {status("fetch", ended("")), status(kCheckContainer, ended(kBad))}, "CrossesSYS", false},
           Row{"said nothing", {status(kCheckContainer, {{"terminated", {{"exitCode", 0}}}})}, "NotReadable", false},
           Row{"the gate comes next",
               {status(kCheckContainer, ended(kBad)), status(kGateContainer, kWaits)},
               "CrossesSYS",
               false},
           Row{"held", {status(kCheckContainer, ended(kBad)), status(kGateContainer, kRuns)}, "CrossesSYS", true},
           Row{"let through",
               {status(kCheckContainer, ended("")), status(kGateContainer, ended(kGood))},
               "NVLink",
               false},
       }) {
    const auto report = read_pod_report(pod(row.statuses));
    ASSERT_TRUE(report.has_value()) << row.says;
    EXPECT_EQ(report->record.has_value(), !row.reason.empty()) << row.says;
    if (report->record) {
      EXPECT_EQ(judge(*report->record).reason, row.reason) << row.says;
    }
    EXPECT_EQ(report->held, row.held) << row.says;
  }
}

}  // namespace
}  // namespace inference::topology
