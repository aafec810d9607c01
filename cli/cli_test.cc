// Tables of arguments and standard input in, exit code and parts of both outputs out. What could kill a process, and
// what is about pipes and disks, runs the real program; the rest calls what main calls, since a start of the sanitized
// program takes a tenth of a second.

#include <array>
#include <csignal>

#include "cli/fixtures.h"

namespace inference::cli {
namespace {

using namespace fixtures;

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

struct Misuse {
  std::vector<std::string> arguments;
  std::string message;
};

TEST(Cli, AnswersMisuseWithExitCode2) {
  const std::vector<Misuse> cases = {
      {{}, "subcommand"},
      {{"rendre"}, "did you mean render?"},
      {{"render"}, "--filename is required"},
      {{"render", "llama.yaml"}, "error: llama.yaml is not expected here; if it is a file, write -f llama.yaml\n"},
      {{"validate", "-"}, "write -f -"},
      {{"render", "-f", "-", "--tempaltes", "x"}, "error: there is no option --tempaltes; did you mean --templates?\n"},
      {{"render", "--filname=x"}, "error: there is no option --filname; did you mean --filename?\n"},
      {{"render", "-f", "-", "-x"}, "error: there is no option -x\n"},
      {{"--verson"}, "error: there is no option --verson; did you mean --version?\n"},
      {{"explain", "-f", "-", "--path", "spec["}, "--path spec[: at character 5: this [ has no ]"},
      {{"explain", "-f", "-", "--path", "Deployment/spec["}, "at character 16: "},
      {{"explain", "-f", "-", "--path", "Deployment/m/spec..replicas"}, "at character 19: a name is missing"},
      {{"explain", "-f", "-", "--path", "spec.containers[name=engine].env[name="}, "at character 33: "},
      {{"explain", "-f", "-", "--path", "...."}, "at character 2: a name is missing"},
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
      {{"status"}, "name is required"},
      {{"status", "m", "n"}, "n is not expected here"},
      {{"topology"}, "either a POD or --from FILE"},
      {{"topology", "m-0", "--from", "-"}, "either a POD or --from FILE"},
      {{"topology", "m-0", "m-1"}, "m-1 is not expected here"},
      {{"audit"}, "either -f FILE or --live"},
      {{"audit", "-f", "-", "--live"}, "either -f FILE or --live"},
      {{"audit", "-f", "-", "-f", "-"}, "only once"},
      {{"audit", "-f", "-", "-n", "llm"}, "need --live"},
      {{"audit", "--live", "-A", "-n", "llm"}, "exclude each other"},
      {{"audit", "-f", "-", "--fix", "-o", "sarif"}, "--fix"},
      {{"audit", "-f", "-", "--severity", "fatal"}, "fatal"},
      {{"version", "extra"}, "error: extra is not expected here\n"},
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

TEST(Cli, TellsItsVersion) {
  const Result text = run_binary({"version"});
  EXPECT_EQ(text.code, 0);
  EXPECT_TRUE(text.out.starts_with("kubectl-inference 0.")) << text.out;
  const Json json = Json::parse(run_cli({"version", "-o", "json"}).out);
  EXPECT_TRUE(json["templates"].get<std::string>().starts_with("sha256:"));
  EXPECT_FALSE(json["commit"].get<std::string>().empty());
  EXPECT_EQ(run_cli({"--version"}).out, text.out.substr(0, text.out.find('\n') + 1));
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
  // A fake server of another test may have had this process ignore the signal, which children inherit.
  const Result killed = run_program({"env", "--default-signal=PIPE", KUBECTL_INFERENCE, "version"}, "", ends[1]);
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
}  // namespace inference::cli
