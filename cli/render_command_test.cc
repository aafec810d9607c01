#include <sys/stat.h>

#include "base/source_path.h"
#include "cli/fixtures.h"

namespace inference::cli {
namespace {

using namespace fixtures;

struct BadInput {
  std::string what;
  std::string input;
  std::string place;    // of the one error: "<stdin>:3: spec.nodes: "
  std::string message;  // a part of it
};

TEST(RenderCommand, AnswersBadInputWithOneClearErrorAndExitCode1) {
  const std::string head = deployment("m");
  std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before + "," + before + "," + before + "," +
            before + "," + before + "," + before + "]\n";
  }
  const std::vector<BadInput> cases = {
      {"garbage", "}{:::\n", "<stdin>:1: ", ""},
      {"binary",
       std::string("\x7F"
                   "ELF\0\0\1",
                   7),
       "<stdin>:1: ", "control character \\x7F"},
      {"ten megabytes", std::string(10'000'000, 'x'), "<stdin>: ", "larger than"},
      {"a duplicate key", head + "  nodes: 1\n  nodes: 2\n", "<stdin>:9: ", "duplicate key \"nodes\""},
      {"an alias bomb", bomb, "<stdin>:", "nodes"},
      {"deep nesting", std::string(50'000, '['), "<stdin>:1: ", "nested"},
      {"no UTF-8", head + "  engine: {name: \"\xC3(\"}\n", "<stdin>:8: ", "not valid UTF-8 (byte \\xC3)"},
      {"a control character", head + "  engine: {name: \x1b[2J}\n", "<stdin>:8: ", "control character \\x1B"},
      {"an escaped control character", head + "  profileRef: {name: \"\\e[2J\"}\n",
       "<stdin>:8: spec.profileRef.name: ", ""},
      {"a negative number", head + "  replicas: -1\n", "<stdin>:8: spec.replicas: ", "0"},
      {"a huge number", head + "  replicas: 99999999999999999999\n", "<stdin>:8: spec.replicas: ", ""},
      {"not a number", head + "  replicas: .nan\n", "<stdin>:8: ", ".nan"},
      {"text for a number", head + "  replicas: \"6\"\n", "<stdin>:8: spec.replicas: ", "integer"},
      {"tensor times pipeline not divisible by nodes",
       "apiVersion: inference-operator.dev/v1alpha1\nkind: InferenceDeployment\nmetadata: {name: m}\nspec:\n  model: "
       "{uri: \"file:///m/l\"}\n  nodes: 3\n"
       "  parallelism:\n    tensor: 8\n    pipeline: 2\n",
       "<stdin>:", "divi"},
      {"a name too long for the children", deployment("a23456789012345678901234567890123456789012345678901234567890"),
       "<stdin>:3: metadata.name: ", ""},
      {"an unknown engine", head + "  engine: {name: llama.cpp}\n", "<stdin>:8: spec.engine.name: ", "vllm"},
      {"a missing profile", head + "  profileRef: {name: h100}\n",
       "<stdin>:8: spec.profileRef.name: ", "no InferenceProfile h100"},
      {"an unknown field", head + "  replica: 6\n", "<stdin>:8: spec.replica: ", "unknown"},
      {"a misspelt field", head + "  replcas: 6\n", "<stdin>:8: spec.replcas: ", "did you mean replicas?"},
      {"a misspelt engine", head + "  engine: {name: vlm}\n", "<stdin>:8: spec.engine.name: ", "did you mean vllm?"},
      {"a merge key", head + "  engine:\n    <<: {name: vllm}\n", "<stdin>:9: ", "write the fields out"},
      {"a tag of YAML's own", head + "  replicas: !!int \"3\"\n", "<stdin>:8: ", "write the plain value without it"},
      {"nothing", "", "<stdin>: ", "no InferenceDeployment"},
      {"only comments", "# nothing\n---\n", "<stdin>: ", "no InferenceDeployment"},
      {"a list", "- a\n- b\n", "<stdin>:1: ", "no Kubernetes object"},
      {"a scalar", "hello\n", "<stdin>:1: ", "no Kubernetes object"},
      {"no kind", "apiVersion: v1\nmetadata: {name: x}\n", "<stdin>:1: ", "kind is missing"},
      {"no apiVersion",
       "kind: InferenceDeployment\nmetadata: {name: x}\nspec: {model: {uri: \"file:///m/l\"}, parallelism: {tensor: "
       "8}}\n",
       "<stdin>:1: apiVersion: ", ""},
      {"another version",
       "apiVersion: inference-operator.dev/v9\nkind: InferenceDeployment\nmetadata: {name: x}\nspec: {model: {uri: "
       "\"file:///m/l\"}, parallelism: {tensor: 8}}\n",
       "<stdin>:1: apiVersion: ", "v1alpha1"},
      {"an unknown kind of ours",
       "apiVersion: inference-operator.dev/v1alpha1\nkind: InferenceDeploy\nmetadata: {name: x}\n",
       "<stdin>:2: kind: ", "InferenceDeploy"},
      {"a template's tag", head + "  replicas: !value replicas\n", "<stdin>:8: ", "!value"},
      {"only another kind", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n",
       "<stdin>: ", "no InferenceDeployment"},
  };
  for (const BadInput& bad : cases) {
    const Result result = run_binary({"render", "-f", "-"}, bad.input);
    EXPECT_EQ(result.code, 1) << bad.what << ": " << result.err;
    EXPECT_EQ(result.out, "") << bad.what;
    EXPECT_EQ(lines_in(result.err), 1U) << bad.what << ": " << result.err;
    EXPECT_TRUE(result.err.starts_with("error: " + bad.place)) << bad.what << ": " << result.err;
    EXPECT_NE(result.err.find(bad.message), std::string::npos) << bad.what << ": " << result.err;
    EXPECT_EQ(result.err.find('\x1b'), std::string::npos) << bad.what;
    EXPECT_LT(result.err.size(), 1'000U) << bad.what;
  }
}

TEST(RenderCommand, TellsAllFaultsOfAllFilesAtOnce) {
  const TemporaryFolder folder;
  const std::string first = folder.write("first.yaml", deployment("a", "  replicas: -1\n  nodez: 2\n"));
  const std::string second = folder.write("second.yaml", "a: [\n");
  const Result result = run_cli({"render", "-f", first, "-f", second, "-f", folder.path("third.yaml")});
  EXPECT_EQ(result.code, 1);
  for (const std::string& part : {first + ":8: spec.replicas: ", first + ":9: spec.nodez: ", second + ":2: ",
                                  folder.path("third.yaml") + ": cannot open: No such file or directory\n"}) {
    EXPECT_NE(result.err.find("error: " + part), std::string::npos) << part << " in " << result.err;
  }
}

TEST(RenderCommand, RendersYamlDocumentsThatReadBack) {
  const std::vector<Json> objects = rendered({}, deployment("llama"));
  EXPECT_TRUE(has_kind(objects, "Deployment"));
  EXPECT_TRUE(has_kind(objects, "Service"));
  EXPECT_EQ(objects, rendered({}, deployment("llama")));
}

TEST(RenderCommand, RendersOneListAsJson) {
  const Result result = run_cli({"render", "-f", "-", "-o", "json"}, deployment("llama"));
  ASSERT_EQ(result.code, 0) << result.err;
  const Json list = Json::parse(result.out);
  EXPECT_EQ(list["kind"], "List");
  EXPECT_EQ(list["apiVersion"], "v1");
  EXPECT_EQ(list["items"].get<std::vector<Json>>(), rendered({}, deployment("llama")));
}

TEST(RenderCommand, TakesManyDocumentsListsAndJson) {
  const std::string two =
      deployment("a") + "---\n" + "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n---\n" + deployment("b");
  const std::string text = Json(rendered({}, two)).dump();
  EXPECT_NE(text.find("\"name\":\"a\""), std::string::npos);
  EXPECT_NE(text.find("\"name\":\"b\""), std::string::npos);

  Json list = {{"apiVersion", "v1"}, {"kind", "List"}, {"items", yaml_documents(two)}};
  EXPECT_EQ(rendered({}, list.dump()), rendered({}, two));
  list["items"][2]["spec"]["nodez"] = 1;
  const Result result = run_cli({"render", "-f", "-"}, list.dump(1));
  EXPECT_EQ(result.code, 1);
  EXPECT_NE(result.err.find(": spec.nodez: "), std::string::npos) << result.err;
}

TEST(RenderCommand, TakesTheProfileThatApplies) {
  const TemporaryFolder folder;
  const std::string by_flag = folder.write("flag.yaml", profile("flag", "{engine: {image: \"registry.test/flag:1\"}}"));
  const std::string named = profile("named", "{engine: {image: \"registry.test/named:1\"}}");
  const auto image = [](const std::vector<Json>& objects) {
    const std::string text = Json(objects).dump();
    const std::size_t at = text.find("registry.test/");
    return at == std::string::npos ? "" : text.substr(at, text.find('"', at) - at);
  };
  EXPECT_EQ(image(rendered({"--profile", by_flag}, deployment("m"))), "registry.test/flag:1");
  EXPECT_EQ(image(rendered({"--profile", by_flag}, deployment("m", "  profileRef: {name: flag}\n"))),
            "registry.test/flag:1");
  EXPECT_EQ(image(rendered({"--profile", by_flag}, deployment("m", "  profileRef: {name: named}\n") + "---\n" + named)),
            "registry.test/named:1");
  EXPECT_EQ(image(rendered({}, deployment("m") + "---\n" + named)), "")
      << "a profile in the input applies only to who names it";

  const Result two = run_cli(
      {"render", "-f", "-", "--profile", folder.write("two.yaml", named + "---\n" + profile("more"))}, deployment("m"));
  EXPECT_EQ(two.code, 1);
  EXPECT_NE(two.err.find("2 InferenceProfiles"), std::string::npos) << two.err;
  EXPECT_EQ(run_cli({"render", "-f", "-"}, deployment("m") + "---\n" + named + "---\n" + named).code, 1)
      << "the same profile twice";
}

TEST(RenderCommand, AssumesTheClusterThatItIsTold) {
  const std::string group = deployment("m", "  nodes: 2\n");
  EXPECT_TRUE(has_kind(rendered({}, group), "LeaderWorkerSet"));
  EXPECT_TRUE(has_kind(rendered({"--cluster", "lws"}, group), "LeaderWorkerSet"));
  EXPECT_NE(Json(rendered({"--cluster", "volcano"}, group)).dump().find("\"schedulerName\":\"volcano\""),
            std::string::npos);
  const std::string queued = deployment("m", "  nodes: 2\n  scheduling: {queue: lq}\n");
  EXPECT_NE(Json(rendered({"--cluster", "kueue"}, queued)).dump().find("\"kueue.x-k8s.io/queue-name\":\"lq\""),
            std::string::npos);
  const Result none = run_cli({"render", "-f", "-", "--cluster", "none"}, group);
  EXPECT_EQ(none.code, 1);
  EXPECT_NE(none.err.find("LeaderWorkerSet"), std::string::npos) << none.err;
}

std::string model_on(const std::string& accelerator, const std::string& nodes = "1") {
  return "apiVersion: inference-operator.dev/v1alpha1\nkind: InferenceDeployment\nmetadata: {name: m}\nspec:\n"
         "  model: {uri: \"file:///m/l\"}\n  accelerator: " +
         accelerator + "\n  nodes: " + nodes + "\n";
}

TEST(RenderCommand, MakesClaimsWhereTheClusterIsToldToServeThem) {
  const std::string model = model_on("{mode: DRA, computeDomain: true}", "2");
  for (const std::vector<std::string>& flags : {std::vector<std::string>{}, {"--cluster", "lws,native,compute-domain"}}) {
    EXPECT_TRUE(has_kind(rendered(flags, model), "ResourceClaimTemplate"));
    EXPECT_TRUE(has_kind(rendered(flags, model), "ComputeDomain"));
  }
  const Result no_driver = run_cli({"render", "-f", "-", "--cluster", "lws,native,dra"}, model);
  EXPECT_EQ(no_driver.code, 1);
  EXPECT_NE(no_driver.err.find("spec.accelerator.computeDomain: "), std::string::npos) << no_driver.err;
  EXPECT_EQ(no_driver.err.find("spec.accelerator.mode: "), std::string::npos) << no_driver.err;
}

TEST(RenderCommand, SaysHowTheNodesMustBeSetUp) {
  const auto notices = [](const std::string& accelerator) {
    const Result result = run_cli({"render", "-f", "-"}, model_on(accelerator));
    EXPECT_EQ(result.code, 0) << result.err;
    return result.err;
  };
  EXPECT_EQ(notices("{}").find("config/gpu-sharing"), std::string::npos);
  const std::string slice = notices("{mig: 1g.10gb}");
  EXPECT_NE(slice.find("config/gpu-sharing/mig-mixed.yaml: they offer nvidia.com/mig-1g.10gb\n"), std::string::npos)
      << slice;
  const std::string shared = notices("{sharing: TimeSlicing}");
  EXPECT_NE(shared.find("notice: <stdin>:6: spec.accelerator.sharing: pods that share a GPU by time slicing are not"),
            std::string::npos)
      << shared;
  EXPECT_NE(shared.find("config/gpu-sharing/time-slicing.yaml"), std::string::npos) << shared;
  EXPECT_NE(notices("{mode: DRA}").find("DeviceClass gpu.nvidia.com"), std::string::npos);
}

/// A copy of the built-in templates, to be broken.
struct OwnTemplates {
  TemporaryFolder folder;
  OwnTemplates() {
    std::filesystem::copy(source_path("templates"), folder.path("t"), std::filesystem::copy_options::recursive);
  }
  void replace(const std::string& file, const std::string& from, const std::string& to) const {
    std::string text = read_text(folder.path("t/" + file));
    ASSERT_NE(text.find(from), std::string::npos) << file;
    folder.write("t/" + file, text.replace(text.find(from), from.size(), to));
  }
  [[nodiscard]] std::string refusal() const {
    const Result result = run_cli({"render", "-f", "-", "--templates", folder.path("t")}, deployment("m"));
    EXPECT_EQ(result.code, 1) << result.err;
    EXPECT_EQ(result.err.find("<stdin>"), std::string::npos) << "the model has no fault: " << result.err;
    return result.err;
  }
};

TEST(RenderCommand, BlamesTheFileOfTheFolderThatIsWrong) {
  struct Row {
    std::string file, from, to, fault;  // after the folder's name
  };
  for (const Row& row :
       {Row{"defaults.yaml", "cpuPerGpu: 8 ", "cpuPerGpu: eight ", "/defaults.yaml:30: must be a whole number\n"},
        Row{"service.yaml", "# Where", "a: 1\na: 2\n#", "/service.yaml:2: duplicate key \"a\"\n"},
        Row{"service.yaml", "kind: Service ", "kind: Servce ", "/service.yaml:3: kind must be Service\n"},
        Row{"service.yaml", "kind: Service ", "zzz: 3 # why: x\nkind: Service ",
            "/service.yaml:3: unknown field zzz: a Service has apiVersion, kind, metadata and spec\n"},
        Row{"deployment.yaml", "template: !value pod", "tmplate: !value pod",
            ": a Deployment lacks /spec/template\n"}}) {
    const OwnTemplates own;
    own.replace(row.file, row.from, row.to);
    EXPECT_EQ(own.refusal(), "error: " + own.folder.path("t") + row.fault);
  }
}

TEST(RenderCommand, LeavesNoTemplateOutWithoutAWord) {
  const auto refusal_of = [](const std::string& name, const auto& change) {
    const OwnTemplates own;
    const std::string path = own.folder.path("t/" + name);
    std::filesystem::remove_all(path);
    change(path);
    std::string text = own.refusal();
    const std::string start = "error: " + own.folder.path("t");
    EXPECT_TRUE(text.starts_with(start)) << text;
    return text.substr(std::min(start.size(), text.size()));
  };
  EXPECT_EQ(refusal_of("engines", [](const std::string&) {}), "/engines: holds no engine\n");
  EXPECT_EQ(refusal_of("defaults.yaml", [](const std::string&) {}), "/defaults.yaml: there is no such file\n");
  EXPECT_EQ(refusal_of("pod.yaml", [](const std::string& path) { std::filesystem::create_symlink("pod.yaml", path); }),
            "/pod.yaml: cannot open: Too many levels of symbolic links\n");
  EXPECT_EQ(refusal_of("pod.yaml", [](const std::string& path) { std::filesystem::create_symlink("gone", path); }),
            "/pod.yaml: cannot open: No such file or directory\n");
  EXPECT_EQ(refusal_of("pod.yaml", [](const std::string& path) { std::filesystem::create_symlink("/dev/zero", path); }),
            "/pod.yaml: is no regular file\n");
  EXPECT_EQ(refusal_of("pod.yaml", [](const std::string& path) { ::mkfifo(path.c_str(), 0600); }),
            "/pod.yaml: is no regular file\n");
  EXPECT_EQ(refusal_of("engines",
                       [](const std::string& path) {
                         std::filesystem::create_directory_symlink(source_path("templates/engines"), path);
                       }),
            "/engines: is a link to a folder, which is not followed\n");
}

TEST(RenderCommand, RendersFromAFolderOfTemplates) {
  const std::string templates = source_path("templates");
  EXPECT_EQ(rendered({"--templates", templates}, deployment("m")), rendered({}, deployment("m")));

  const TemporaryFolder folder;
  const Result missing = run_cli({"render", "-f", "-", "--templates", folder.path("nowhere")}, deployment("m"));
  EXPECT_EQ(missing.code, 1);
  EXPECT_NE(missing.err.find("No such file or directory"), std::string::npos) << missing.err;
}

}  // namespace
}  // namespace inference::cli
