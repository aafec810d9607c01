#include "cli/fixtures.h"

namespace inference::cli {
namespace {

using namespace fixtures;

TEST(CompletionCommand, CompletesFromItsOwnDeclarations) {
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

TEST(CompletionCommand, CompletionScriptsParse) {
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    const Result script = run_cli({"completion", shell});
    EXPECT_EQ(script.code, 0);
    const Result checked = run_program({shell, "-n"}, script.out);
    if (checked.code == 127) continue;  // the shell is not installed
    EXPECT_EQ(checked.code, 0) << shell << checked.err;
  }
}

TEST(CompletionCommand, BashCompletesWithTheScript) {
  const std::string script = run_cli({"completion", "bash"}).out;
  const std::string test = script + "COMP_WORDS=(" KUBECTL_INFERENCE
                                    " render --pro); COMP_CWORD=2; _kubectl_inference; echo \"${COMPREPLY[*]}\"\n";
  const Result result = run_program({"bash"}, test);
  EXPECT_EQ(result.out, "--profile\n") << result.err;
}

}  // namespace
}  // namespace inference::cli
