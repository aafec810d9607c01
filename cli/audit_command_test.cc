#include "base/source_path.h"
#include "cli/fixtures.h"
#include "operator/client/testing/fake_http_server.h"

namespace inference::cli {
namespace {

using namespace fixtures;

/// A Deployment with two faults: it may surge, and has no readiness probe.
std::string manifest(std::string_view annotation = "{}") {
  return "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: llama\n  namespace: llm\n  annotations: " +
         std::string(annotation) + R"(
spec:
  template:
    spec:
      terminationGracePeriodSeconds: 330
      nodeSelector: {nvidia.com/gpu.product: NVIDIA-L40S}
      tolerations: [{key: nvidia.com/gpu, operator: Exists}]
      containers:
      - name: server
        image: registry.example.com/server:1
        command: [serve]
        env:
        - {name: OMP_NUM_THREADS, value: "2"}
        - {name: MKL_NUM_THREADS, value: "2"}
        - {name: TOKENIZERS_PARALLELISM, value: "false"}
        ports: [{containerPort: 80}]
        resources: {limits: {cpu: "8", memory: 64Gi, nvidia.com/gpu: "1"}}
        lifecycle: {preStop: {sleep: {seconds: 15}}}
        volumeMounts: [{name: dshm, mountPath: /dev/shm}]
      volumes: [{name: dshm, emptyDir: {medium: Memory, sizeLimit: 8Gi}}]
)";
}

std::vector<std::string> rules_in(const Json& findings) {
  std::vector<std::string> rules;
  for (const Json& finding : findings) rules.push_back(finding["rule"]);
  return rules;
}

using Rules = std::vector<std::string>;
const Rules kAll = {"readiness-probe", "rollout-surge", "cpu-limit-without-static"};

TEST(AuditCommand, TellsByObjectWhereAndWhatAndCounts) {
  const Result result = run_cli({"audit", "-f", "-", "--severity", "error"}, manifest());
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.err, "");
  EXPECT_TRUE(
      result.out.starts_with("Deployment llm/llama (<stdin>:1)\n"
                             "  error readiness-probe at "
                             "spec.template.spec.containers[name=server].readinessProbe (line 14)\n"))
      << result.out;
  EXPECT_TRUE(result.out.ends_with("\n2 errors, 0 warnings, 1 info in 1 workload with GPUs; 1 of them not shown\n"))
      << result.out;
}

TEST(AuditCommand, SpeaksJson) {
  const Result result = run_cli({"audit", "-f", "-", "-o", "json"}, manifest());
  EXPECT_EQ(result.code, 1);
  const Json json = Json::parse(result.out);
  EXPECT_EQ(rules_in(json["findings"]), kAll);
  EXPECT_EQ(json["ignored"], Json::array());
  const Json& first = json["findings"][0];
  EXPECT_EQ(first["severity"], "error");
  EXPECT_EQ(first["object"], "Deployment llm/llama");
  EXPECT_EQ(first["path"], "spec.template.spec.containers[name=server].readinessProbe");
  EXPECT_EQ(first.size(), 6U);
}

TEST(AuditCommand, EndsWellWithoutErrors) {
  const Result reasons =
      run_cli({"audit", "-f", "-", "-o", "json"},
              manifest("{audit.inference-operator.dev/ignore: 'readiness-probe: mesh; rollout-surge: spare'}"));
  EXPECT_EQ(reasons.code, 0) << reasons.out;
  EXPECT_EQ(Json::parse(reasons.out)["ignored"][0]["reason"], "mesh");
  const Result none = run_cli({"audit", "-f", "-"}, "apiVersion: v1\nkind: Service\nmetadata: {name: x}\n");
  EXPECT_EQ(none.code, 0);
  EXPECT_EQ(none.out, "no workload with GPUs\n");
}

TEST(AuditCommand, SpeaksSarif) {
  const TemporaryFolder folder;
  const std::string file =
      folder.write("a b.yaml", manifest("{audit.inference-operator.dev/ignore: 'rollout-surge: spare'}"));
  const Json sarif = Json::parse(run_cli({"audit", "-f", file, "-o", "sarif"}).out);
  EXPECT_EQ(sarif["version"], "2.1.0");
  const Json& run = sarif["runs"][0];
  const Json& rules = run["tool"]["driver"]["rules"];
  EXPECT_EQ(rules.size(), 28U);
  ASSERT_EQ(run["results"].size(), 3U);
  for (const Json& result : run["results"]) {
    EXPECT_EQ(rules[result["ruleIndex"].get<std::size_t>()]["id"], result["ruleId"]);
    const Json& physical = result["locations"][0]["physicalLocation"];
    EXPECT_TRUE(physical["artifactLocation"]["uri"].get<std::string>().ends_with("/a%20b.yaml"));
    EXPECT_GT(physical["region"]["startLine"].get<int>(), 1);
    EXPECT_FALSE(result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"].get<std::string>().empty());
  }
  EXPECT_EQ(run["results"][0]["level"], "error");
  EXPECT_EQ(run["results"][1]["level"], "note");
  EXPECT_EQ(run["results"][2]["suppressions"][0]["justification"], "spare");
}

TEST(AuditCommand, PrintsPatchesForKustomizeAndForKubectl) {
  const Result yaml = run_cli({"audit", "-f", "-", "--fix"}, manifest());
  EXPECT_EQ(yaml.code, 1);
  EXPECT_TRUE(yaml.out.starts_with("# Deployment llm/llama: patched below; left for a person: ")) << yaml.out;
  const std::vector<Json> documents = yaml_documents(yaml.out);
  ASSERT_EQ(documents.size(), 1U);
  EXPECT_EQ(documents[0]["kind"], "Component");
  EXPECT_EQ(
      documents[0]["patches"][0]["target"],
      (Json{{"group", "apps"}, {"version", "v1"}, {"kind", "Deployment"}, {"name", "llama"}, {"namespace", "llm"}}));
  const Json operations = yaml_documents(documents[0]["patches"][0]["patch"]).at(0);
  const Json json = Json::parse(run_cli({"audit", "-f", "-", "--fix", "-o", "json"}, manifest()).out);
  EXPECT_EQ(json["patches"][0]["patch"], operations);
  Json object = yaml_documents(manifest()).at(0);
  object = object.patch(operations);
  EXPECT_EQ(object["spec"]["strategy"]["rollingUpdate"]["maxSurge"], 0);
}

TEST(AuditCommand, TakesListsAndAllDocumentsOfAFolder) {
  const TemporaryFolder folder;
  folder.write("in/one.yaml", manifest());
  folder.write("in/deep/two.json",
               R"({"apiVersion": "v1", "kind": "List", "items": [)" + yaml_documents(manifest()).at(0).dump() + "]}");
  folder.write("in/values.yaml", "replicas: 3\n");
  folder.write("in/.hidden.yaml", "{{ .Values }}");
  const Result result = run_cli({"audit", "-f", folder.path("in"), "-o", "json"});
  EXPECT_EQ(Json::parse(result.out)["findings"].size(), 6U);
  EXPECT_TRUE(result.err.starts_with("note: " + folder.path("in") + "/values.yaml")) << result.err;
  EXPECT_EQ(lines_in(result.err), 1U);
}

TEST(AuditCommand, TellsWhatCannotBeReadAndJudgesTheRest) {
  const TemporaryFolder folder;
  const std::string broken = folder.write("broken.yaml", "a: [\n");
  const Result result = run_cli({"audit", "-f", broken, "-f", folder.write("good.yaml", manifest())});
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(result.err.starts_with("error: " + broken)) << result.err;
  EXPECT_NE(result.out.find("rollout-surge"), std::string::npos);
  const Result missing = run_cli({"audit", "-f", "/no/such/file"});
  EXPECT_EQ(missing.code, 1);
  EXPECT_EQ(missing.out, "");
  const Result values = run_cli({"audit", "-f", folder.write("values.yaml", "replicas: 3\n")});
  EXPECT_EQ(values.code, 1) << "a file that is named is meant";
}

TEST(AuditCommand, PutsNoControlCharactersOnTheTerminal) {
  const Result result =
      run_cli({"audit", "-f", "-"},
              manifest() + "---\n" + std::string(manifest()).replace(manifest().find("llama"), 5, "\"\\e[2Jx\""));
  EXPECT_EQ(result.out.find('\x1b'), std::string::npos);
  EXPECT_NE(result.out.find("\\x1B[2Jx"), std::string::npos) << result.out;
}

/// A kubeconfig for the server; its context is about namespace llm.
std::string kubeconfig(const std::string& url) {
  return Json{{"apiVersion", "v1"},
              {"kind", "Config"},
              {"current-context", "c"},
              {"clusters", {{{"name", "k"}, {"cluster", {{"server", url}}}}}},
              {"users", {{{"name", "u"}, {"user", Json::object()}}}},
              {"contexts", {{{"name", "c"}, {"context", {{"cluster", "k"}, {"user", "u"}, {"namespace", "llm"}}}}}}}
      .dump();
}

std::string list_of(const char* kind, Json items) {
  return Json{{"apiVersion", "v1"}, {"kind", kind}, {"metadata", Json::object()}, {"items", std::move(items)}}.dump();
}

TEST(AuditCommand, AuditsAClusterWithTheRightsOfTheCaller) {
  const Json deployment = yaml_documents(manifest()).at(0);
  Json owned = deployment;
  owned["kind"] = "ReplicaSet";
  owned["metadata"]["ownerReferences"] =
      Json::array({{{"kind", "Deployment"}, {"name", "llama"}, {"controller", true}}});
  const std::string none = list_of("List", Json::array());
  client::FakeHttpServer server(client::in_turn({
      {.status = 404, .body = "404 page not found"},
      {.body = list_of("DeploymentList", Json::array({deployment}))},
      {.status = 403, .body = R"({"kind": "Status", "reason": "Forbidden", "message": "statefulsets is forbidden"})"},
      {.body = none},
      {.body = list_of("ReplicaSetList", Json::array({owned}))},
      {.body = none},
      {.body = none},
      {.body = none},
      {.body = none},
      {.body = none},
      {.body = none},
  }));
  const TemporaryFolder folder;
  const Result result =
      run_cli({"audit", "--live", "--kubeconfig", folder.write("config", kubeconfig(server.url())), "-o", "json"});
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(rules_in(Json::parse(result.out)["findings"]), kAll) << result.out << result.err;
  EXPECT_TRUE(result.err.starts_with("note: statefulsets.apps: 403")) << result.err;
  EXPECT_EQ(lines_in(result.err), 1U);
  EXPECT_TRUE(server.requests()[1].target.starts_with("/apis/apps/v1/namespaces/llm/deployments"))
      << server.requests()[1].target;
}

TEST(AuditCommand, FindsNothingInWhatTheSamplesRender) {
  for (const char* sample : {"llama-70b", "llama-405b"}) {
    const Result render =
        run_cli({"render", "--cluster", "native", "-f", source_path("config/samples/") + sample + ".yaml"});
    const Json json = Json::parse(run_cli({"audit", "-f", "-", "--severity", "warn", "-o", "json"}, render.out).out);
    EXPECT_EQ(json["findings"], Json::array()) << sample;
  }
}

}  // namespace
}  // namespace inference::cli
