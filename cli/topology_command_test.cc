#include "cli/fixtures.h"
#include "operator/client/testing/fake_http_server.h"
#include "topology/fixtures.h"

namespace inference::cli {
namespace {

using namespace fixtures;
using topology::fixture;

TEST(TopologyCommand, SaysTheVerdictFirstAndThenEachPair) {
  const Result bad = run_cli({"topology", "--from", "-"}, fixture("l40s"));
  EXPECT_EQ(bad.code, 1);
  EXPECT_EQ(bad.out,
            "TopologyVerified=False/CrossesSYS: GPU0-GPU2, GPU0-GPU3, GPU1-GPU2, GPU1-GPU3 can only meet over the "
            "interconnect between sockets (SYS)\n"
            "<stdin>\n"
            "  GPU0-GPU1  NODE\n  GPU0-GPU2  SYS\n  GPU0-GPU3  SYS\n  GPU1-GPU2  SYS\n  GPU1-GPU3  SYS\n"
            "  GPU2-GPU3  NODE\n");
  EXPECT_EQ(bad.err, "");
  const TemporaryFolder folder;
  const Result good = run_cli({"topology", "--from", folder.write("topo.txt", fixture("h100-sxm"))});
  EXPECT_EQ(good.code, 0);
  EXPECT_TRUE(good.out.starts_with("TopologyVerified=True/NVLink: ")) << good.out;
  EXPECT_EQ(lines_in(good.out), 2U + 28U);
}

TEST(TopologyCommand, SpeaksJson) {
  const Result result = run_cli({"topology", "--from", "-", "-o", "json"}, fixture("a100-pcie"));
  EXPECT_EQ(result.code, 1);
  const Json json = Json::parse(result.out);
  EXPECT_EQ(json["status"], "False");
  EXPECT_EQ(json["reason"], "CrossesSYS");
  EXPECT_EQ(json["gpus"].size(), 4U);
  EXPECT_EQ(json["pairs"][0], (Json{{"gpus", {"GPU0", "GPU1"}}, {"link", "NV12"}}));
  EXPECT_EQ(json["crossing"].size(), 4U);
}

TEST(TopologyCommand, NeverCallsUnreadableInputVerified) {
  for (const std::string& input : {std::string(), std::string("\xff\xfe\x1b[31m\n"), std::string("command not found\n"),
                                   fixture("bridged-pairs").substr(0, 200)}) {
    const Result text = run_cli({"topology", "--from", "-"}, input);
    EXPECT_EQ(text.code, 1);
    EXPECT_TRUE(text.out.starts_with("TopologyVerified=Unknown/NotReadable: ")) << text.out;
    EXPECT_EQ(text.out.find('\x1b'), std::string::npos);
    EXPECT_EQ(Json::parse(run_cli({"topology", "--from", "-", "-o", "json"}, input).out)["status"], "Unknown");
  }
  const Result missing = run_cli({"topology", "--from", "/no/such/file"});
  EXPECT_EQ(missing.code, 1);
  EXPECT_EQ(missing.out, "");
  EXPECT_NE(missing.err.find("/no/such/file"), std::string::npos);
}

Json reported(const std::string& matrix, bool held) {
  Json statuses = Json::array(
      {{{"name", "topology-check"}, {"state", {{"terminated", {{"message", "tensor=2 gpus=2\n" + matrix}}}}}}});
  if (held) statuses.push_back({{"name", "topology-gate"}, {"state", {{"running", Json::object()}}}});
  return {{"apiVersion", "v1"}, {"kind", "Pod"}, {"status", {{"initContainerStatuses", statuses}}}};
}

TEST(TopologyCommand, ReadsThePodsOwnReportFromTheCluster) {
  const std::string sys = " GPU0 GPU1\nGPU0 X SYS\nGPU1 SYS X\n";
  Json looking = reported(sys, false);
  looking["status"]["initContainerStatuses"][0]["state"] = {{"running", Json::object()}};
  client::FakeHttpServer server(client::in_turn({
      {.body = reported(sys, true).dump()},
      {.body = reported(" GPU0 GPU1\nGPU0 X NV4\nGPU1 NV4 X\n", false).dump()},
      {.body = looking.dump()},
      {.body = R"({"apiVersion": "v1", "kind": "Pod", "status": {}})"},
      {.status = 404, .body = R"({"kind": "Status", "reason": "NotFound", "message": "pods \"m-0\" not found"})"},
  }));
  const TemporaryFolder folder;
  const std::string config = folder.write("config", kubeconfig(server.url()));

  const Result held = run_cli({"topology", "m-0", "--kubeconfig", config});
  EXPECT_EQ(held.code, 1);
  EXPECT_EQ(held.out,
            "TopologyVerified=False/CrossesSYS: GPU0-GPU1 can only meet over the interconnect between sockets (SYS)\n"
            "pod llm/m-0, whose engine is not started because of it\n  GPU0-GPU1  SYS\n")
      << held.err;
  const Result good = run_cli({"topology", "m-0", "-n", "other", "--kubeconfig", config, "--context", "c"});
  EXPECT_EQ(good.code, 0) << good.out << good.err;
  EXPECT_NE(good.out.find("pod other/m-0\n"), std::string::npos) << good.out;
  for (const char* fault :
       {"pod llm/m-0 has not reported yet", "has no init container topology-check", "pods \"m-0\" not found"}) {
    const Result result = run_cli({"topology", "m-0", "--kubeconfig", config});
    EXPECT_EQ(result.code, 1);
    EXPECT_EQ(result.out, "");
    EXPECT_NE(result.err.find(fault), std::string::npos) << result.err;
  }
  EXPECT_EQ(server.requests()[0].target, "/api/v1/namespaces/llm/pods/m-0");
  EXPECT_EQ(server.requests()[1].target, "/api/v1/namespaces/other/pods/m-0");
}

TEST(TopologyCommand, TellsWhyNoClusterCanBeAsked) {
  const TemporaryFolder folder;
  const Result broken = run_cli({"topology", "m-0", "--kubeconfig", folder.write("config", "clusters: 7\n")});
  EXPECT_EQ(broken.code, 1);
  EXPECT_EQ(broken.out, "");
  EXPECT_TRUE(broken.err.starts_with("error: ")) << broken.err;
}

}  // namespace
}  // namespace inference::cli
