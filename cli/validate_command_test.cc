#include "base/source_path.h"
#include "cli/fixtures.h"

namespace inference::cli {
namespace {

using namespace fixtures;

TEST(ValidateCommand, ValidatesEachFile) {
  const TemporaryFolder folder;
  const std::string good =
      folder.write("good.yaml", deployment("a") + "---\n" + profile("p") +
                                    "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n");
  const Result fine = run_cli({"validate", "-f", good});
  EXPECT_EQ(fine.code, 0) << fine.out;
  EXPECT_EQ(fine.out, good + ": ok (2 objects)\n");
  EXPECT_NE(fine.err.find("skipped ConfigMap other"), std::string::npos) << fine.err;

  const std::string bad =
      folder.write("bad.yaml", deployment("a", "  replicas: -1\n") + "---\n" + deployment("b", "  nodez: 1\n"));
  const Result both = run_cli({"validate", "-f", good, "-f", bad});
  EXPECT_EQ(both.code, 1);
  EXPECT_NE(both.out.find(good + ": ok (2 objects)\n"), std::string::npos);
  EXPECT_NE(both.out.find(bad + ":8: spec.replicas: "), std::string::npos) << both.out;
  EXPECT_NE(both.out.find(bad + ":17: spec.nodez: "), std::string::npos) << both.out;

  const Result elsewhere = run_cli({"validate", "-f", "-"}, deployment("a", "  profileRef: {name: on-the-cluster}\n"));
  EXPECT_EQ(elsewhere.code, 0) << "the cluster may have the profile";
  EXPECT_NE(elsewhere.err.find("on-the-cluster is not in the files"), std::string::npos);

  const Result refused = run_cli({"validate", "-f", "-"}, deployment("a", "  gateway: {endpointPicker: epp}\n"));
  EXPECT_EQ(refused.code, 1) << "what the operator would refuse to render";
  EXPECT_NE(refused.out.find("<stdin>:8: spec.gateway: "), std::string::npos) << refused.out;
}

TEST(ValidateCommand, FindsAFileWithNothingOfOurs) {
  const std::string other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n";
  const std::string nothing = "<stdin>: nothing to validate: no object of inference-operator.dev is in it\n";
  for (const std::string& input :
       {std::string(), std::string("# a comment\n"), std::string("null\n"), std::string("---\n---\n"), other,
        other + "---\n" + other, std::string("apiVersion: v1\nkind: List\nitems: []\n"),
        std::string("apiVersion: example.com/v1\nkind: AllowList\nmetadata: {name: a}\n")}) {
    const Result result = run_cli({"validate", "-f", "-"}, input);
    EXPECT_EQ(result.code, 1) << input;
    EXPECT_EQ(result.out, nothing) << input;
  }
  const TemporaryFolder folder;
  const std::string first = folder.write("first.yaml", other);
  const std::string second = folder.write("second.yaml", deployment("a") + "---\n" + other);
  const Result both = run_cli({"validate", "-f", first, "-f", second});
  EXPECT_EQ(both.code, 1) << "each file is asked";
  EXPECT_NE(both.out.find(first + ": nothing to validate"), std::string::npos) << both.out;
  EXPECT_NE(both.out.find(second + ": ok (1 object)\n"), std::string::npos) << both.out;
  EXPECT_NE(both.err.find(second + ":9: skipped ConfigMap other"), std::string::npos) << both.err;
  EXPECT_EQ(run_cli({"validate", "-f", first, "-f", first}).code, 1);
}

TEST(ValidateCommand, RefusesAListThatIsNone) {
  struct Row {
    std::string input, out;
  };
  for (const Row& row :
       {Row{"apiVersion: v1\nkind: List\nitems: 3\n", "<stdin>:3: items: must be a list of objects\n"},
        Row{"apiVersion: v1\nkind: List\n", "<stdin>:1: items: is missing: a List has a list of objects\n"},
        Row{"apiVersion: inference-operator.dev/v1alpha1\nkind: InferenceDeploymentList\nitems: {}\n",
            "<stdin>:3: items: must be a list of objects\n"},
        Row{"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List\n  items: x\n",
            "<stdin>:6: items: must be a list of objects\n"}}) {
    const Result result = run_cli({"validate", "-f", "-"}, row.input);
    EXPECT_EQ(result.code, 1) << row.input;
    EXPECT_EQ(result.out, row.out);
  }
}

TEST(ValidateCommand, RefusesAnObjectThatIsThereTwice) {
  const Result once_more = run_cli({"validate", "-f", "-"}, deployment("a") + "---\n" + deployment("a"));
  EXPECT_EQ(once_more.code, 1);
  EXPECT_EQ(once_more.out, "<stdin>:11: metadata.name: InferenceDeployment a is defined twice, first at <stdin>:3\n");
  const TemporaryFolder folder;
  const std::string file = folder.write("a.yaml", deployment("a"));
  const std::string profiles = folder.write("p.yaml", profile("p"));
  const Result same_file = run_cli({"render", "-f", file, "-f", file});
  EXPECT_EQ(same_file.code, 1);
  EXPECT_EQ(same_file.out, "");
  EXPECT_EQ(same_file.err,
            "error: " + file + ":3: metadata.name: InferenceDeployment a is defined twice, first at " + file + ":3\n");
  const Result twice =
      run_cli({"validate", "-f", "-", "--profile", profiles}, deployment("a") + "---\n" + profile("p"));
  EXPECT_EQ(twice.code, 1);
  EXPECT_NE(twice.out.find("InferenceProfile p is defined twice, first at " + profiles + ":4\n"), std::string::npos)
      << twice.out;
  std::string elsewhere = deployment("a");
  elsewhere.replace(elsewhere.find("{name: a}"), 9, "{name: a, namespace: b}");
  EXPECT_EQ(run_cli({"validate", "-f", "-"}, deployment("a") + "---\n" + elsewhere).code, 0);
}

TEST(ValidateCommand, RefusesPodsThatCannotBe) {
  struct Row {
    std::string pod, fault;
  };
  for (const Row& row :
       {Row{"bogusField: 1", "spec.podTemplate.spec.bogusField: unknown field: a PodSpec of Kubernetes"},
        Row{"volumes: foo", "spec.podTemplate.spec.volumes: must be a list, not the string \"foo\"\n"},
        Row{"terminationGracePeriodSeconds: abc", "terminationGracePeriodSeconds: must be an integer"},
        Row{"priority: 1.5", "spec.podTemplate.spec.priority: must be an integer of 32 bits"},
        Row{"containers: [{name: engine, lifecyle: {}}]",
            "spec.podTemplate.spec.containers[0].lifecyle: unknown field"}}) {
    const std::string input = deployment("a", "  podTemplate:\n    spec: {" + row.pod + "}\n");
    for (const std::string command : {"validate", "render", "explain"}) {
      const Result result = run_cli({command, "-f", "-"}, input);
      EXPECT_EQ(result.code, 1) << row.pod;
      EXPECT_NE((result.out + result.err).find(row.fault), std::string::npos) << result.out << result.err;
      EXPECT_NE((result.out + result.err).find("<stdin>:9: "), std::string::npos) << result.out << result.err;
    }
  }
}

TEST(ValidateCommand, WarnsOfNullsThatKubectlDrops) {
  const Result result = run_cli(
      {"validate", "-f", "-"},
      deployment("a",
                 "  podTemplate:\n    spec:\n      containers:\n      - name: engine\n        livenessProbe: null\n") +
          "---\n" + profile("p", "{podTemplate: {spec: {hostname: null}}}"));
  EXPECT_EQ(result.code, 0) << result.out;
  EXPECT_NE(
      result.err.find("note: <stdin>:12: spec.podTemplate.spec.containers[0].livenessProbe: kubectl apply without "
                      "--server-side drops null, and nothing is deleted: write {$patch: delete}\n"),
      std::string::npos)
      << result.err;
  EXPECT_NE(result.err.find("spec.defaults.podTemplate.spec.hostname: kubectl apply"), std::string::npos) << result.err;
  EXPECT_EQ(run_cli({"validate", "-f", "-"},
                    deployment("a",
                               "  podTemplate: {spec: {containers: [{name: engine, livenessProbe: {$patch: "
                               "delete}}]}}\n"))
                .err.find("note: "),
            std::string::npos);
}

TEST(ValidateCommand, TellsWhatASpecLeadsToThatWasMostLikelyNotMeant) {
  std::string input = deployment("a", "  nodes: 2\n");
  input.replace(input.find("tensor: 8"), 9, "tensor: 16");
  for (const std::string command : {"validate", "render"}) {
    const Result result = run_cli({command, "-f", "-"}, input);
    EXPECT_EQ(result.code, 0);
    EXPECT_NE(result.err.find("notice: <stdin>:6: spec.parallelism.tensor: each pod asks for 16 GPUs"),
              std::string::npos)
        << result.err;
    EXPECT_NE(result.err.find("set spec.parallelism.pipeline to 1"), std::string::npos) << result.err;
  }
}

TEST(ValidateCommand, JudgesTheStatusAsAStrictApiServer) {
  const Result result = run_cli({"validate", "-f", "-"}, deployment("a") + "status: {foo: 1}\n");
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.out, "<stdin>:8: status.foo: unknown field\n");
}

TEST(ValidateCommand, ValidatesTheSamples) {
  for (const auto& entry : std::filesystem::directory_iterator(source_path("config/samples"))) {
    if (entry.path().extension() != ".yaml" || entry.path().filename() == "kustomization.yaml") continue;
    const Result result = run_binary({"validate", "-f", entry.path().string()});
    EXPECT_EQ(result.code, 0) << result.out << result.err;
  }
}

}  // namespace
}  // namespace inference::cli
