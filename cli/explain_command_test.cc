#include "cli/fixtures.h"

namespace inference::cli {
namespace {

using namespace fixtures;

TEST(ExplainCommand, ExplainsEachLine) {
  const Result all = run_cli({"explain", "-f", "-"}, deployment("llama", "  replicas: 6\n"));
  ASSERT_EQ(all.code, 0) << all.err;
  EXPECT_NE(all.out.find("  spec.replicas: 6  ← templates/deployment.yaml:"), std::string::npos)
      << all.out.substr(0, 2'000);
  EXPECT_NE(all.out.find("(why: "), std::string::npos);
  for (const std::string path : {"spec.replicas", ".spec.replicas", "/spec/replicas", "{.spec.replicas}",
                                 "Deployment/spec.replicas", "Deployment/llama/spec.replicas"}) {
    const Result one = run_cli({"explain", "-f", "-", "--path", path}, deployment("llama", "  replicas: 6\n"));
    EXPECT_EQ(one.code, 0) << path << one.err;
    EXPECT_NE(one.out.find("  spec.replicas: 6  ←"), std::string::npos) << path << ": " << one.out;
    EXPECT_EQ(lines_in(one.out), 2U) << path << ": " << one.out;
  }
  for (const std::string path : {"Deployment", "Service", "Deployment/spec.template.spec.containers[name=engine]",
                                 "spec.template.spec.containers[0].image"}) {
    EXPECT_EQ(run_cli({"explain", "-f", "-", "--path", path}, deployment("llama")).code, 0) << path;
  }
}

TEST(ExplainCommand, ExplainsAsJson) {
  const Result result = run_cli({"explain", "-f", "-", "-o", "json", "--path", "Deployment/spec.replicas"},
                                deployment("llama", "  replicas: 6\n"));
  ASSERT_EQ(result.code, 0) << result.err;
  const Json objects = Json::parse(result.out);
  ASSERT_EQ(objects.size(), 1U);
  EXPECT_EQ(objects[0]["leaves"][0]["value"], 6);
}

TEST(ExplainCommand, SuggestsThePathThatWasMeant) {
  for (const std::string path :
       {"spec.replica", "/spec/replica", "Deployment/spec.replica", "Deploymnt/spec.replicas"}) {
    const Result result = run_cli({"explain", "-f", "-", "--path", path}, deployment("llama"));
    EXPECT_EQ(result.code, 1) << path;
    EXPECT_EQ(result.out, "");
    EXPECT_NE(result.err.find("spec.replicas"), std::string::npos) << result.err;
  }
  EXPECT_EQ(run_cli({"explain", "-f", "-", "--path", "\x1b\xFF"}, deployment("llama")).code, 1);
}

TEST(ExplainCommand, SuggestsOnlyPathsThatExist) {
  const auto suggestion = [](const std::string& path) {
    const Result result = run_cli({"explain", "-f", "-", "--path", path}, deployment("llama"));
    EXPECT_EQ(result.code, 1) << path << ": " << result.out;
    const std::size_t at = result.err.find("the nearest: ");
    return at == std::string::npos ? std::string() : result.err.substr(at + 13, result.err.size() - at - 14);
  };
  // A key with dots is one step.
  EXPECT_EQ(suggestion("metadata.lables['app.kubernetes.io/nam']"),
            "metadata.labels['app.kubernetes.io/name'], metadata.labels['app.kubernetes.io/component'], "
            "metadata.labels['app.kubernetes.io/managed-by']");
  // An index that a list does not have leads to the items that it has.
  EXPECT_EQ(suggestion("spec.template.spec.containers[99999999999999999999].image"),
            "spec.template.spec.containers[name=engine].image");
  EXPECT_EQ(suggestion("Service/spec.ports[7]"), "spec.ports[name=http]");
  EXPECT_NE(suggestion("Service/spec.ports[7].prot").find("Service/spec.ports[name=http].port"), std::string::npos);
  EXPECT_EQ(suggestion("[99999999999999999999]"), "") << "digits are like no name";
  for (const std::string path : {"metadata.labels['app.kubernetes", "metadata.labels['a", "spec.containers[999999"}) {
    EXPECT_EQ(run_cli({"explain", "-f", "-", "--path", path}, deployment("llama")).code, 2) << path;
  }
}

}  // namespace
}  // namespace inference::cli
