// The whole answer in every state that e2e/status_test.cc has recorded of a real cluster: diagnose/states/NAME.json
// gives NAME.txt, which UPDATE_GOLDEN=1 writes anew.

#include "cli/status_command.h"

#include <cstdlib>
#include <set>

#include "base/source_path.h"
#include "cli/fixtures.h"
#include "diagnose/diagnosis.h"
#include "operator/client/testing/fake_http_server.h"

namespace inference::cli {
namespace {

using namespace fixtures;
namespace fs = std::filesystem;

fs::path states_folder() {
  return source_path("diagnose/states");
}

std::vector<std::string> states() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(states_folder())) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem());
  }
  std::ranges::sort(names);
  return names;
}

diagnose::Evidence state(const std::string& name) {
  return diagnose::Evidence::from_json(Json::parse(read_text(states_folder() / (name + ".json"))));
}

class RecordedState : public testing::TestWithParam<std::string> {};

TEST_P(RecordedState, IsAnsweredAsRecorded) {
  const diagnose::Evidence evidence = state(GetParam());
  const Outcome outcome = report_status(evidence, OutputFormat::kText);
  const fs::path golden = states_folder() / (GetParam() + ".txt");
  if (std::getenv("UPDATE_GOLDEN") != nullptr) std::ofstream(golden) << outcome.out;
  EXPECT_EQ(outcome.out, read_text(golden)) << "UPDATE_GOLDEN=1 writes it";
  const std::string first = outcome.out.substr(0, outcome.out.find('\n'));
  const diagnose::Diagnosis diagnosis = diagnose::diagnose(evidence);
  EXPECT_NE(diagnosis.rule, "Unexplained");
  EXPECT_EQ(first.find(evidence.title() + ": "), 0U) << first;
  EXPECT_EQ(first.find(" Next: ") == std::string::npos, diagnosis.finding.next.empty()) << first;
  EXPECT_EQ(outcome.code, diagnosis.ready ? ExitCode::kOk : ExitCode::kFinding);
  EXPECT_EQ(Json::parse(report_status(evidence, OutputFormat::kJson).out)["rule"], diagnosis.rule);
  EXPECT_EQ(yaml_documents(report_status(evidence, OutputFormat::kYaml).out)[0]["cause"], diagnosis.finding.cause);
}

INSTANTIATE_TEST_SUITE_P(OfARealCluster, RecordedState, testing::ValuesIn(states()), [](const auto& name) {
  std::string word = name.param;
  std::ranges::replace(word, '-', '_');
  return word;
});

TEST(StatusCommand, KnowsManyStates) {
  std::set<std::string> rules;
  for (const std::string& name : states()) rules.insert(diagnose::diagnose(state(name)).rule);
  EXPECT_GE(rules.size(), 15U);
}

TEST(StatusCommand, BearsWhateverStandsInTheEvidence) {
  for (const std::string& name : states()) {
    const Json whole = state(name).to_json();
    for (const Json& odd : {Json(), Json(7), Json("x"), Json::array({1}), Json::object()}) {
      for (const char* part : {"object", "workload", "pods", "nodes", "events", "podGroups", "unread"}) {
        Json broken = whole;
        broken[part] = odd;
        (void)report_status(diagnose::Evidence::from_json(broken), OutputFormat::kText);
      }
      for (const char* part : {"metadata", "spec", "status"}) {
        Json broken = whole;
        for (const char* list : {"pods", "nodes"}) {
          for (Json& item : broken[list]) item[part] = odd;
        }
        if (broken["object"].is_object()) broken["object"][part] = odd;
        (void)report_status(diagnose::Evidence::from_json(broken), OutputFormat::kText);
      }
    }
  }
}

const std::string kForbidden =
    R"({"kind": "Status", "code": 403, "reason": "Forbidden", "message": "nodes is forbidden: User \"u\" cannot list"})";

TEST(StatusCommand, SaysWhatItMayNotReadAndAnswersFromTheRest) {
  const Json model = {
      {"metadata", {{"name", "m"}, {"namespace", "llm"}, {"generation", 1}}},
      {"status",
       {{"observedGeneration", 1},
        {"conditions", {{{"type", "Ready"}, {"status", "Unknown"}, {"reason", "Loading"}, {"message", "0 of 1"}}}}}}};
  client::FakeHttpServer server(client::in_turn({
      {.body = model.dump()},
      {.status = 403, .body = kForbidden},
      {.status = 403, .body = kForbidden},
      {.status = 403, .body = kForbidden},
  }));
  const TemporaryFolder folder;
  const Result result = run_cli({"status", "m", "--kubeconfig", folder.write("config", kubeconfig(server.url()))});
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.out.find("llm/m: it is loading: 0 of 1. Next: wait"), 0U) << result.out;
  for (const char* part : {"pods", "events", "nodes"}) {
    EXPECT_NE(result.err.find(std::string("note: without ") + part + ", which could not be read: 403 Forbidden"),
              std::string::npos)
        << result.err;
  }
  EXPECT_EQ(server.requests()[0].target, "/apis/inference-operator.dev/v1alpha1/namespaces/llm/inferencedeployments/m");
}

TEST(StatusCommand, TellsAModelThatIsMissingFromOneThatItMayNotSee) {
  const std::string missing = R"({"kind": "Status", "code": 404, "reason": "NotFound", "message": "not found"})";
  client::FakeHttpServer server(client::in_turn({
      {.status = 404, .body = missing},
      {.body = R"({"kind": "APIResourceList"})"},
      {.status = 404, .body = missing},
      {.status = 404, .body = missing},
      {.status = 403, .body = kForbidden},
  }));
  const TemporaryFolder folder;
  const std::string config = folder.write("config", kubeconfig(server.url()));
  const Result absent = run_cli({"status", "m", "--kubeconfig", config});
  EXPECT_EQ(absent.code, 1);
  EXPECT_EQ(absent.out.find("llm/m: there is no InferenceDeployment of this name in namespace llm. Next: "), 0U)
      << absent.out << absent.err;
  const Result no_kind = run_cli({"status", "m", "--kubeconfig", config});
  EXPECT_EQ(no_kind.code, 1);
  EXPECT_EQ(no_kind.err.find("error: the cluster has no InferenceDeployments"), 0U) << no_kind.err;
  const Result forbidden = run_cli({"status", "m", "--kubeconfig", config});
  EXPECT_EQ(forbidden.code, 1);
  EXPECT_EQ(forbidden.out, "");
  EXPECT_EQ(forbidden.err.find("error: InferenceDeployment llm/m: 403 Forbidden"), 0U) << forbidden.err;
}

TEST(StatusCommand, ShowsPodsThatDoNotServeFirstWhereThereAreMany) {
  diagnose::Evidence evidence;
  evidence.ns = "llm";
  evidence.name = "m";
  evidence.object = Json::object();
  for (int i = 0; i < 100; ++i) {
    const bool serves = i != 97;
    evidence.pods.push_back(
        {{"metadata", {{"name", "m-" + std::to_string(i)}}},
         {"spec", {{"nodeName", "n"}}},
         {"status",
          {{"phase", "Running"}, {"conditions", {{{"type", "Ready"}, {"status", serves ? "True" : "False"}}}}}}});
  }
  const std::string out = report_status(evidence, OutputFormat::kText).out;
  EXPECT_NE(out.find("m-97"), std::string::npos);
  EXPECT_NE(out.find("and 60 more pods\n"), std::string::npos) << out;
}

}  // namespace
}  // namespace inference::cli
