// Tables of arguments and standard input in, exit code and parts of both outputs out. What could kill a process, and
// what is about pipes and disks, runs the real program; the rest calls what main calls, since a start of the sanitized
// program takes a tenth of a second.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "base/yaml_reader.h"
#include "cli/command_line.h"

namespace inference {
namespace {

struct Result {
  int code = -1;  // negative: the signal that killed it
  std::string out;
  std::string err;
};

/// A folder that is gone with the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "cli_test_XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string write(const std::string& name, std::string_view text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
    return (path_ / name).string();
  }
  [[nodiscard]] std::string path(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Runs a program to its end. Input and output go through files, so that no pipe can fill up. The output can go
/// elsewhere instead.
Result run_program(const std::vector<std::string>& command, std::string_view input, int out_descriptor = -1) {
  const TemporaryFolder folder;
  const std::string in = folder.write("in", input);
  const std::string out = folder.write("out", "");
  const std::string err = folder.write("err", "");
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(::open(in.c_str(), O_RDONLY), STDIN_FILENO);
    ::dup2(out_descriptor >= 0 ? out_descriptor : ::open(out.c_str(), O_WRONLY), STDOUT_FILENO);
    ::dup2(::open(err.c_str(), O_WRONLY), STDERR_FILENO);
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return {.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status),
          .out = read_text(out),
          .err = read_text(err)};
}

Result run_binary(std::vector<std::string> arguments, std::string_view input = "") {
  arguments.insert(arguments.begin(), KUBECTL_INFERENCE);
  return run_program(arguments, input);
}

/// The same in this process.
Result run_cli(const std::vector<std::string>& arguments, std::string_view input = "") {
  const TemporaryFolder folder;
  const int file = ::open(folder.write("in", input).c_str(), O_RDONLY | O_CLOEXEC);
  ::dup2(file, STDIN_FILENO);
  ::close(file);
  cli::Outcome outcome = cli::run(arguments);
  return {.code = static_cast<int>(outcome.code), .out = std::move(outcome.out), .err = std::move(outcome.err)};
}

std::string deployment(std::string_view name, std::string_view spec = "") {
  return "apiVersion: inference-operator.dev/v1alpha1\nkind: InferenceDeployment\nmetadata: {name: " +
         std::string(name) +
         "}\nspec:\n  model: {uri: \"file:///var/models/llama\"}\n  parallelism: {tensor: 8}\n  accelerator: {product: "
         "NVIDIA-H100-80GB-HBM3}\n" +
         std::string(spec);
}

std::string profile(std::string_view name, std::string_view defaults = "{}", std::string_view annotations = "{}") {
  return "apiVersion: inference-operator.dev/v1alpha1\nkind: InferenceProfile\nmetadata:\n  name: " +
         std::string(name) + "\n  annotations: " + std::string(annotations) +
         "\nspec:\n  defaults: " + std::string(defaults) + "\n";
}

std::vector<Json> yaml_documents(const std::string& text) {
  const auto documents = read_yaml_documents(text);
  if (!documents) {
    ADD_FAILURE() << documents.error().message << " at " << documents.error().line;
    return {};
  }
  std::vector<Json> values;
  for (const JsonDocument& document : *documents) values.push_back(document.value);
  return values;
}

bool has_kind(const std::vector<Json>& objects, const std::string& kind) {
  return std::ranges::any_of(objects, [&kind](const Json& object) { return object["kind"] == kind; });
}

/// The renderer's output for the input, which must be accepted.
std::vector<Json> rendered(std::vector<std::string> more, std::string_view input) {
  std::vector<std::string> arguments = {"render", "-f", "-"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Result result = run_cli(arguments, input);
  EXPECT_EQ(result.code, 0) << result.err;
  return yaml_documents(result.out);
}

std::size_t lines_in(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

struct BadInput {
  std::string what;
  std::string input;
  std::string place;    // of the one error: "<stdin>:3: spec.nodes: "
  std::string message;  // a part of it
};

TEST(Cli, AnswersBadInputWithOneClearErrorAndExitCode1) {
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

TEST(Cli, TellsAllFaultsOfAllFilesAtOnce) {
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

struct Misuse {
  std::vector<std::string> arguments;
  std::string message;
};

TEST(Cli, MainPassesOnWhatWasFound) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"render", "--bogus"}, {"explain", "-f", "-"}, {"--help"}}) {
    const Result real = run_binary(arguments, deployment("m"));
    const Result here = run_cli(arguments, deployment("m"));
    EXPECT_EQ(real.code, here.code);
    EXPECT_EQ(real.out, here.out);
    EXPECT_EQ(real.err, here.err);
  }
}

TEST(Cli, AnswersMisuseWithExitCode2) {
  const std::vector<Misuse> cases = {
      {{}, "subcommand"},
      {{"rendre"}, "did you mean render?"},
      {{"render"}, "--filename is required"},
      {{"render", "-f"}, "--filename"},
      {{"render", "-f", ""}, "-f"},
      {{"render", "-f", "a", "b"}, "b"},
      {{"render", "-f", "-", "-f", "-"}, "only once"},
      {{"render", "-f", "-", "--profile", "-"}, "only once"},
      {{"render", "-f", "-", "--bogus"}, "--bogus"},
      {{"render", "-f", "-", "--\x1b[2J"}, "\\x1B"},
      {{"render", "-f", "-", "-o", "toml"}, "toml"},
      {{"render", "-f", "-", "--cluster", "mesos"}, "mesos"},
      {{"render", "-f", "-", "--cluster", "none,lws"}, "none"},
      {{"explain", "-f", "-", "--path"}, "--path"},
      {{"completion"}, "shell"},
      {{"completion", "tcsh"}, "tcsh"},
      {{"version", "extra"}, "extra"},
  };
  for (const Misuse& misuse : cases) {
    const Result result = run_cli(misuse.arguments);
    EXPECT_EQ(result.code, 2) << misuse.message << ": " << result.out << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_TRUE(result.err.starts_with("error: ")) << result.err;
    EXPECT_NE(result.err.find(misuse.message), std::string::npos) << misuse.message << " in " << result.err;
    EXPECT_NE(result.err.find("--help"), std::string::npos) << result.err;
    EXPECT_EQ(result.err.find('\x1b'), std::string::npos);
  }
}

TEST(Cli, HelpIsNoError) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"--help"}, {"-h"}, {"render", "--help"}, {"explain", "-h"}, {"completion", "--help"}}) {
    const Result result = run_cli(arguments);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    EXPECT_NE(result.out.find("kubectl inference"), std::string::npos);
  }
  EXPECT_NE(run_cli({"render", "--help"}).out.find("volcano"), std::string::npos);
  EXPECT_NE(run_cli({"completion", "--help"}).out.find("kubectl_complete-inference"), std::string::npos);
}

TEST(Cli, RendersYamlDocumentsThatReadBack) {
  const std::vector<Json> objects = rendered({}, deployment("llama"));
  EXPECT_TRUE(has_kind(objects, "Deployment"));
  EXPECT_TRUE(has_kind(objects, "Service"));
  EXPECT_EQ(objects, rendered({}, deployment("llama")));
}

TEST(Cli, RendersOneListAsJson) {
  const Result result = run_cli({"render", "-f", "-", "-o", "json"}, deployment("llama"));
  ASSERT_EQ(result.code, 0) << result.err;
  const Json list = Json::parse(result.out);
  EXPECT_EQ(list["kind"], "List");
  EXPECT_EQ(list["apiVersion"], "v1");
  EXPECT_EQ(list["items"].get<std::vector<Json>>(), rendered({}, deployment("llama")));
}

TEST(Cli, TakesManyDocumentsListsAndJson) {
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

TEST(Cli, TakesTheProfileThatApplies) {
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

TEST(Cli, AssumesTheClusterThatItIsTold) {
  const std::string group = deployment("m", "  nodes: 2\n");
  EXPECT_TRUE(has_kind(rendered({}, group), "LeaderWorkerSet"));
  EXPECT_TRUE(has_kind(rendered({"--cluster", "lws"}, group), "LeaderWorkerSet"));
  EXPECT_NE(Json(rendered({"--cluster", "volcano"}, group)).dump().find("\"schedulerName\":\"volcano\""),
            std::string::npos);
  const Result none = run_cli({"render", "-f", "-", "--cluster", "none"}, group);
  EXPECT_EQ(none.code, 1);
  EXPECT_NE(none.err.find("LeaderWorkerSet"), std::string::npos) << none.err;
}

TEST(Cli, RendersFromAFolderOfTemplates) {
  const std::string templates = std::string(SOURCE_DIR) + "/templates";
  EXPECT_EQ(rendered({"--templates", templates}, deployment("m")), rendered({}, deployment("m")));

  const TemporaryFolder folder;
  std::filesystem::copy(templates, folder.path("t"), std::filesystem::copy_options::recursive);
  folder.write("t/service.yaml", "a: 1\na: 2\n");
  const Result broken = run_cli({"render", "-f", "-", "--templates", folder.path("t")}, deployment("m"));
  EXPECT_EQ(broken.code, 1);
  EXPECT_NE(broken.err.find("t/service.yaml:2: "), std::string::npos) << broken.err;

  const Result missing = run_cli({"render", "-f", "-", "--templates", folder.path("nowhere")}, deployment("m"));
  EXPECT_EQ(missing.code, 1);
  EXPECT_NE(missing.err.find("No such file or directory"), std::string::npos) << missing.err;
}

TEST(Cli, ExplainsEachLine) {
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

TEST(Cli, ExplainsAsJson) {
  const Result result = run_cli({"explain", "-f", "-", "-o", "json", "--path", "Deployment/spec.replicas"},
                                deployment("llama", "  replicas: 6\n"));
  ASSERT_EQ(result.code, 0) << result.err;
  const Json objects = Json::parse(result.out);
  ASSERT_EQ(objects.size(), 1U);
  EXPECT_EQ(objects[0]["leaves"][0]["value"], 6);
}

TEST(Cli, SuggestsThePathThatWasMeant) {
  for (const std::string path :
       {"spec.replica", "/spec/replica", "Deployment/spec.replica", "Deploymnt/spec.replicas"}) {
    const Result result = run_cli({"explain", "-f", "-", "--path", path}, deployment("llama"));
    EXPECT_EQ(result.code, 1) << path;
    EXPECT_EQ(result.out, "");
    EXPECT_NE(result.err.find("spec.replicas"), std::string::npos) << result.err;
  }
  EXPECT_EQ(run_cli({"explain", "-f", "-", "--path", "\x1b[2J\xFF"}, deployment("llama")).code, 1);
}

TEST(Cli, ValidatesEachFile) {
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

  const Result refused = run_cli({"validate", "-f", "-"}, deployment("a", "  topologyCheck: Enforce\n"));
  EXPECT_EQ(refused.code, 1) << "what the operator would refuse to render";
  EXPECT_NE(refused.out.find("<stdin>:8: spec.topologyCheck: "), std::string::npos) << refused.out;
}

TEST(Cli, ValidatesTheSamples) {
  for (const auto& entry : std::filesystem::directory_iterator(std::string(SOURCE_DIR) + "/config/samples")) {
    if (entry.path().extension() != ".yaml" || entry.path().filename() == "kustomization.yaml") continue;
    const Result result = run_binary({"validate", "-f", entry.path().string()});
    EXPECT_EQ(result.code, 0) << result.out << result.err;
  }
}

TEST(Cli, TellsItsVersion) {
  const Result text = run_binary({"version"});
  EXPECT_EQ(text.code, 0);
  EXPECT_TRUE(text.out.starts_with("kubectl-inference 0.")) << text.out;
  const Json json = Json::parse(run_cli({"version", "-o", "json"}).out);
  EXPECT_TRUE(json["templates"].get<std::string>().starts_with("sha256:"));
  EXPECT_FALSE(json["commit"].get<std::string>().empty());
  EXPECT_EQ(run_cli({"--version"}).out, text.out.substr(0, text.out.find('\n') + 1));
}

TEST(Cli, CompletesFromItsOwnDeclarations) {
  const auto complete = [](std::vector<std::string> words) {
    words.insert(words.begin(), "__complete");
    return run_cli(words).out;
  };
  EXPECT_NE(complete({""}).find("render\t"), std::string::npos);
  EXPECT_EQ(complete({"val"}).substr(0, 9), "validate\t");
  EXPECT_NE(complete({"render", "--"}).find("--profile\t"), std::string::npos);
  EXPECT_EQ(complete({"render", "--"}).find("--path"), std::string::npos);
  EXPECT_EQ(complete({"render", "-f", ""}), ":0\n") << "files";
  EXPECT_EQ(complete({"render", "--templates", ""}), ":16\n") << "folders";
  EXPECT_EQ(complete({"render", "-f", "x", "-o", ""}), "json\nyaml\n:4\n");
  EXPECT_EQ(complete({"explain", "--output=t"}), "--output=text\n:4\n");
  EXPECT_EQ(complete({"render", "--cluster", "l"}), "lws\n:4\n");
  EXPECT_EQ(complete({"completion", ""}), "bash\nfish\nzsh\n:4\n");
  EXPECT_EQ(complete({}), complete({""}));
}

TEST(Cli, CompletionScriptsParse) {
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    const Result script = run_cli({"completion", shell});
    EXPECT_EQ(script.code, 0);
    const Result checked = run_program({shell, "-n"}, script.out);
    if (checked.code == 127) continue;  // the shell is not installed
    EXPECT_EQ(checked.code, 0) << shell << checked.err;
  }
}

TEST(Cli, BashCompletesWithTheScript) {
  const std::string script = run_cli({"completion", "bash"}).out;
  const std::string test = script + "COMP_WORDS=(" KUBECTL_INFERENCE
                                    " render --pro); COMP_CWORD=2; _kubectl_inference; echo \"${COMPREPLY[*]}\"\n";
  const Result result = run_program({"bash"}, test);
  EXPECT_EQ(result.out, "--profile\n") << result.err;
}

TEST(Cli, AFullDiskIsAnError) {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  const Result result = run_program({KUBECTL_INFERENCE, "version"}, "", full);
  ::close(full);
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.err, "error: cannot write the output: No space left on device\n");
}

TEST(Cli, AClosedPipeEndsItQuietly) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  ::close(ends[0]);
  const Result killed = run_program({KUBECTL_INFERENCE, "version"}, "", ends[1]);
  EXPECT_EQ(killed.code, -SIGPIPE) << "as every other program in a pipe";
  EXPECT_EQ(killed.err, "");
  const Result ignoring = run_program({"sh", "-c", "trap '' PIPE; exec " KUBECTL_INFERENCE " version"}, "", ends[1]);
  EXPECT_EQ(ignoring.code, 1);
  EXPECT_EQ(ignoring.err, "");
  ::close(ends[1]);
}

TEST(Cli, RefusesFoldersAndDevices) {
  const Result folder = run_cli({"render", "-f", "/tmp"});
  EXPECT_EQ(folder.code, 1);
  EXPECT_EQ(folder.err, "error: /tmp: cannot read: Is a directory\n");
  const Result endless = run_binary({"render", "-f", "/dev/zero"});
  EXPECT_EQ(endless.code, 1);
  EXPECT_NE(endless.err.find("/dev/zero: is larger than"), std::string::npos) << endless.err;
}

}  // namespace
}  // namespace inference
