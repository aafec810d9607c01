// Runs the script of templates/topology-script.yaml for real, under each shell that is installed and against a fake
// nvidia-smi, and judges what it leaves as the operator does.

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/clock.h"
#include "render/fixtures.h"
#include "render/template_set.h"
#include "topology/fixtures.h"
#include "topology/verdict.h"

namespace inference::render {
namespace {

namespace fs = std::filesystem;
using topology::Answer;
using topology::fixture;

std::string script() {
  return TemplateSet::embedded().find("topology-script.yaml")->root.json.get<std::string>();
}

/// The shells that engine images have as /bin/sh: dash (Debian, Ubuntu) and bash (Red Hat).
std::vector<std::string> shells() {
  std::vector<std::string> present;
  for (const char* shell : {"/bin/dash", "/bin/bash"}) {
    if (fs::exists(shell)) present.emplace_back(shell);
  }
  return present;
}

/// One run of the script: a folder with its nvidia-smi on the PATH and with its termination message.
class ScriptRun {
 public:
  /// `nvidia_smi` is the text of the program; empty: there is none.
  ScriptRun(const std::string& shell, const std::string& nvidia_smi, Environment environment) {
    std::string pattern = (fs::temp_directory_path() / "topology-script-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    std::ofstream(folder_ / "topology.sh") << script();
    fs::create_directories(folder_ / "bin");
    // No more of an image than the script may count on; `cat` is for the fake.
    for (const char* tool : {"/bin/sleep", "/bin/cat"})
      fs::create_symlink(tool, folder_ / "bin" / fs::path(tool).filename());
    if (!nvidia_smi.empty()) {
      const fs::path program = folder_ / "bin" / "nvidia-smi";
      std::ofstream(program) << "#!/bin/sh\n[ \"$*\" = 'topo -m' ] || exit 9\n" << nvidia_smi;
      fs::permissions(program, fs::perms::owner_all);
    }
    environment.emplace("PATH", (folder_ / "bin").string());
    environment.emplace("TOPOLOGY_MESSAGE", (folder_ / "message").string());
    environment.emplace("FOLDER", folder_.string());
    pid_ = start({shell, (folder_ / "topology.sh").string()}, environment, folder_ / "out", folder_ / "out");
  }
  ~ScriptRun() {
    kill(pid_, SIGKILL);
    (void)exit_code();
    fs::remove_all(folder_);
  }
  ScriptRun(const ScriptRun&) = delete;
  ScriptRun& operator=(const ScriptRun&) = delete;

  [[nodiscard]] const fs::path& folder() const { return folder_; }
  [[nodiscard]] std::string message() const { return read_file(folder_ / "message"); }
  [[nodiscard]] std::string output() const { return read_file(folder_ / "out"); }
  void send(int signal) const { kill(pid_, signal); }
  /// Waits for the end.
  int exit_code() {
    if (!code_) code_ = wait_for(pid_);
    return *code_;
  }
  /// Whether it holds the pod: it has said so and has not ended.
  [[nodiscard]] bool holds() {
    for (int tries = 0; tries < 3000; ++tries) {
      int status = 0;
      if (!code_ && waitpid(pid_, &status, WNOHANG) == pid_) code_ = exit_code_of(status);
      if (code_) return false;
      if (output().find("the engine does not start") != std::string::npos) return true;
      (void)sleep(clock_, std::chrono::milliseconds{10}, {});
    }
    ADD_FAILURE() << "neither ended nor said that it holds: " << output();
    return false;
  }

 private:
  SystemClock clock_;
  fs::path folder_;
  pid_t pid_ = -1;
  std::optional<int> code_;
};

Environment given(std::size_t tensor, std::size_t gpus) {
  return {{"TOPOLOGY_TENSOR", std::to_string(tensor)}, {"TOPOLOGY_GPUS", std::to_string(gpus)}};
}

std::string prints(const std::string& output) {
  return "cat <<'END'\n" + output + "\nEND\n";
}

struct Case {
  const char* says;
  std::size_t tensor, gpus;
  std::string nvidia_smi;
  const char* reason;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"NVSwitch and NICs", 8, 8, prints(fixture("h100-sxm")), "NVLink"},
      {"bridged pairs", 8, 8, prints(fixture("bridged-pairs")), "CrossesSYS"},
      {"bridged pairs over two sockets", 4, 4, prints(fixture("a100-pcie")), "CrossesSYS"},
      {"a stage on each socket", 2, 4, prints(fixture("a100-pcie")), "NVLink"},
      {"PCIe on two sockets", 4, 4, prints(fixture("l40s")), "CrossesSYS"},
      {"PCIe below one socket", 4, 4, prints(fixture("pcie-switches")), "SameSocket"},
      {"ranks that do not divide", 3, 4, prints(fixture("l40s")), "CrossesSYS"},
      {"another language", 2, 2, prints(fixture("localized")), "SameSocket"},
      {"an underlined heading", 2, 2, prints("\x1b[4m\tGPU0\tGPU1\x1b[0m\nGPU0 X PIX\nGPU1 PIX X"), "SameSocket"},
      {"one GPU where two were asked for", 2, 2, prints(fixture("one-gpu")), "NotReadable"},
      {"instances of one GPU", 2, 2, prints(fixture("mig")), "NotReadable"},
      {"the whole node", 2, 2, prints(fixture("bridged-pairs")), "NotReadable"},
      {"cut in its last row", 2, 2, prints("GPU0 GPU1\nGPU0 X NV4\nGPU1 NV4"), "NotReadable"},
      {"cut after its first row", 2, 2, prints("GPU0 GPU1\nGPU0 X NV4"), "NotReadable"},
      {"no heading", 2, 2, prints("GPU0 X NV4\nGPU1 NV4 X"), "NotReadable"},
      {"no X", 2, 2, prints("GPU0 GPU1\nGPU0 NV4 NV4\nGPU1 NV4 NV4"), "NotReadable"},
      {"X everywhere", 2, 2, prints("GPU0 GPU1\nGPU0 X X\nGPU1 X X"), "NotReadable"},
      {"an unknown kind", 2, 2, prints("GPU0 GPU1\nGPU0 X ?\nGPU1 ? X"), "NotReadable"},
      {"rows out of order", 2, 2, prints("GPU0 GPU1\nGPU1 X NV4\nGPU0 NV4 X"), "NotReadable"},
      {"an error", 2, 2, "echo 'Failed to initialize NVML: Unknown Error' >&2; exit 255\n", "NotReadable"},
      {"patterns", 2, 2, prints("* $(touch \"$FOLDER/pwned\") `touch \"$FOLDER/pwned\"` \\033"), "NotReadable"},
      {"nothing", 2, 2, "exit 3\n", "NotReadable"},
      {"no nvidia-smi", 2, 2, "", "NotReadable"},
      {"killed", 2, 2, "kill -9 $$\n", "NotReadable"},
  };
  return all;
}

class TopologyScript : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Shells, TopologyScript, testing::ValuesIn(shells()),
                         [](const auto& info) { return fs::path(info.param).filename().string(); });

TEST_P(TopologyScript, LeavesWhatTheOperatorJudgesAndNeverFails) {
  for (const Case& row : cases()) {
    ScriptRun run(GetParam(), row.nvidia_smi, given(row.tensor, row.gpus));
    EXPECT_EQ(run.exit_code(), 0) << row.says;
    const std::string message = run.message();
    const topology::Record record = topology::read_record(message);
    EXPECT_EQ(judge(record).reason, row.reason) << row.says << ": " << message;
    EXPECT_EQ(record.given.tensor, row.tensor) << row.says;
    EXPECT_EQ(record.given.gpus, row.gpus) << row.says;
    EXPECT_LT(message.size(), 1024U) << row.says << ": the kubelet keeps 4096 bytes, of many containers less";
    EXPECT_EQ(message.find('\x1b'), std::string::npos) << row.says;
    EXPECT_FALSE(fs::exists(run.folder() / "pwned")) << row.says;
  }
}

TEST_P(TopologyScript, HoldsThePodExactlyWhenTheOperatorDoesNotCallTheLinksGood) {
  for (const Case& row : cases()) {
    Environment environment = given(row.tensor, row.gpus);
    environment["TOPOLOGY_MODE"] = "hold";
    ScriptRun run(GetParam(), row.nvidia_smi, environment);
    const bool held = run.holds();
    EXPECT_EQ(held, judge(topology::read_record(run.message())).answer != Answer::kGood) << row.says;
    if (held) run.send(SIGTERM);
    EXPECT_EQ(run.exit_code(), 0) << row.says;
  }
}

TEST_P(TopologyScript, LetsThePodGoOnceTheDriverHasRecovered) {
  Environment environment = given(2, 2);
  environment["TOPOLOGY_MODE"] = "hold";
  environment["TOPOLOGY_RETRY_SECONDS"] = "0.01";
  ScriptRun run(GetParam(), "if [ -e \"$FOLDER/well\" ]; then " + prints("GPU0 GPU1\nGPU0 X NV4\nGPU1 NV4 X") + "fi\n",
                environment);
  EXPECT_TRUE(run.holds());
  std::ofstream(run.folder() / "well") << "yes";
  EXPECT_EQ(run.exit_code(), 0);
  EXPECT_EQ(judge(topology::read_record(run.message())).reason, "NVLink");
}

TEST_P(TopologyScript, GivesUpOnAnNvidiaSmiThatHangs) {
  Environment environment = given(2, 2);
  environment["TOPOLOGY_TIMEOUT_SECONDS"] = "0.2";
  ScriptRun run(GetParam(), "exec sleep 600\n", environment);
  EXPECT_EQ(run.exit_code(), 0);
  EXPECT_EQ(run.message(), "tensor=2 gpus=2\nnvidia-smi did not answer within 0.2 s\n");
}

TEST_P(TopologyScript, EndsAtOnceOnSigtermWhileNvidiaSmiHangs) {
  ScriptRun run(GetParam(), "echo started >\"$FOLDER/started\"; exec sleep 600\n", given(2, 2));
  SystemClock clock;
  for (int tries = 0; tries < 3000 && !fs::exists(run.folder() / "started"); ++tries)
    (void)sleep(clock, std::chrono::milliseconds{10}, {});
  run.send(SIGTERM);
  EXPECT_EQ(run.exit_code(), 0);
}

TEST_P(TopologyScript, TellsItsLogWhenTheMessageCanNotBeWritten) {
  Environment environment = given(2, 2);
  environment["TOPOLOGY_MESSAGE"] = "/proc/no-such-folder/message";
  ScriptRun run(GetParam(), prints(fixture("localized")), environment);
  EXPECT_EQ(run.exit_code(), 0);
  EXPECT_NE(run.output().find("cannot be written"), std::string::npos) << run.output();
}

TEST(TopologyScriptText, PassesShellcheck) {
  FILE* pipe = popen("shellcheck -s sh -", "w");
  const std::string text = script();
  std::fwrite(text.data(), 1, text.size(), pipe);
  EXPECT_EQ(pclose(pipe), 0);
}

}  // namespace
}  // namespace inference::render
