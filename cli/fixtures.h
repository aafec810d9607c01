#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/yaml_reader.h"
#include "cli/command_line.h"

namespace inference::cli::fixtures {

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

inline std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Runs a program to its end. Input and output go through files, so that no pipe can fill up. The output can go
/// elsewhere instead.
inline Result run_program(const std::vector<std::string>& command, std::string_view input, int out_descriptor = -1) {
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

inline Result run_binary(std::vector<std::string> arguments, std::string_view input = "") {
  arguments.insert(arguments.begin(), KUBECTL_INFERENCE);
  return run_program(arguments, input);
}

/// The same in this process.
inline Result run_cli(const std::vector<std::string>& arguments, std::string_view input = "") {
  const TemporaryFolder folder;
  const int file = ::open(folder.write("in", input).c_str(), O_RDONLY | O_CLOEXEC);
  ::dup2(file, STDIN_FILENO);
  ::close(file);
  Outcome outcome = run(arguments);
  return {.code = static_cast<int>(outcome.code), .out = std::move(outcome.out), .err = std::move(outcome.err)};
}

inline std::string deployment(std::string_view name, std::string_view spec = "") {
  return "apiVersion: inference-operator.dev/v1alpha1\nkind: InferenceDeployment\nmetadata: {name: " +
         std::string(name) +
         "}\nspec:\n  model: {uri: \"file:///var/models/llama\"}\n  parallelism: {tensor: 8}\n  accelerator: {product: "
         "NVIDIA-H100-80GB-HBM3}\n" +
         std::string(spec);
}

inline std::string profile(std::string_view name, std::string_view defaults = "{}",
                           std::string_view annotations = "{}") {
  return "apiVersion: inference-operator.dev/v1alpha1\nkind: InferenceProfile\nmetadata:\n  name: " +
         std::string(name) + "\n  annotations: " + std::string(annotations) +
         "\nspec:\n  defaults: " + std::string(defaults) + "\n";
}

inline std::vector<Json> yaml_documents(const std::string& text) {
  const auto documents = read_yaml_documents(text);
  if (!documents) {
    ADD_FAILURE() << documents.error().message << " at " << documents.error().line;
    return {};
  }
  std::vector<Json> values;
  for (const JsonDocument& document : *documents) values.push_back(document.value);
  return values;
}

inline bool has_kind(const std::vector<Json>& objects, const std::string& kind) {
  return std::ranges::any_of(objects, [&kind](const Json& object) { return object["kind"] == kind; });
}

/// The renderer's output for the input, which must be accepted.
inline std::vector<Json> rendered(std::vector<std::string> more, std::string_view input) {
  std::vector<std::string> arguments = {"render", "-f", "-"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Result result = run_cli(arguments, input);
  EXPECT_EQ(result.code, 0) << result.err;
  return yaml_documents(result.out);
}

inline std::size_t lines_in(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

/// A kubeconfig for the server; its context is about namespace llm.
inline std::string kubeconfig(const std::string& url) {
  return Json{{"apiVersion", "v1"},
              {"kind", "Config"},
              {"current-context", "c"},
              {"clusters", {{{"name", "k"}, {"cluster", {{"server", url}}}}}},
              {"users", {{{"name", "u"}, {"user", Json::object()}}}},
              {"contexts", {{{"name", "c"}, {"context", {{"cluster", "k"}, {"user", "u"}, {"namespace", "llm"}}}}}}}
      .dump();
}

}  // namespace inference::cli::fixtures
