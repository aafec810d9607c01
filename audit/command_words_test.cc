#include "audit/command_words.h"

#include "audit/fixtures.h"

namespace inference::audit {
namespace {

std::vector<std::string> texts(const Json& container, const Constants& constants = {}) {
  std::vector<std::string> texts;
  for (const Word& word : command_words(container, "", constants)) texts.push_back(word.text);
  return texts;
}

using Texts = std::vector<std::string>;

TEST(CommandWords, AreTheItemsOfCommandAndArgs) {
  const Json container = {{"command", {"vllm", "serve"}}, {"args", {"--model", "/models/a b", 7}}};
  EXPECT_EQ(texts(container), (Texts{"vllm", "serve", "--model", "/models/a b"}));
  EXPECT_EQ(command_words(container, "/spec/containers/0", {})[3].pointer, "/spec/containers/0/args/1");
}

TEST(CommandWords, TakeAScriptApart) {
  const auto script = [](const char* text) { return texts({{"command", {"/bin/bash", "-lc"}}, {"args", {text}}}); };
  EXPECT_EQ(script("vllm serve 'a b' --port=1"), (Texts{"/bin/bash", "-lc", "vllm", "serve", "a b", "--port=1", "\n"}));
  EXPECT_EQ(script("# starts\nray start --head; exec vllm \\\n  serve \"x y\" && echo a#b # done"),
            (Texts{"/bin/bash", "-lc", "\n", "ray", "start", "--head", "\n", "exec", "vllm", "serve", "x y", "\n",
                   "echo", "a#b", "\n"}));
  EXPECT_EQ(script("open 'quote"), (Texts{"/bin/bash", "-lc", "open", "quote", "\n"}));
  EXPECT_EQ(script(""), (Texts{"/bin/bash", "-lc", "\n"}));
  EXPECT_EQ(texts({{"command", {"python3", "-c", "import a; b"}}}), (Texts{"python3", "-c", "import a; b"}));
}

TEST(CommandWords, PutConstantsInThePlaceOfVariables) {
  const Constants constants = {{"TP", "8"}, {"ARGS", "--a 1"}};
  EXPECT_EQ(texts({{"args", {"$(TP)", "$TP", "$(LWS_GROUP_SIZE)", "$$"}}}, constants),
            (Texts{"8", "$TP", "$(LWS_GROUP_SIZE)", "$$"}))
      << "Kubernetes itself only knows $(NAME)";
  EXPECT_EQ(texts({{"command", {"sh", "-c", "run $TP ${TP} $(TP) ${NOT:-4} ${NOT} $ARGS $"}}}, constants),
            (Texts{"sh", "-c", "run", "8", "8", "8", "4", "${NOT}", "--a", "1", "$", "\n"}));
}

TEST(CommandWords, BoundWhatVariablesGrowTo) {
  const Constants constants = {{"A", std::string(1000, 'x')}};
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "$A";
  EXPECT_LE(texts({{"command", {"sh", "-c", text}}}, constants).at(2).size(), std::size_t{1} << 20);
}

TEST(CommandWords, FindFlagsInAllSpellings) {
  const Words words =
      command_words({{"args", {"--tensor_parallel_size", "2", "-tp=4", "--port", "8000", "--quiet"}}}, "", {});
  EXPECT_EQ(find_flag(words, {"--port"})->value, "8000");
  EXPECT_EQ(number_of_flag(words, {"--tensor-parallel-size", "-tp"}), 4) << "the last one counts";
  EXPECT_EQ(find_flag(words, {"--quiet"})->value, "");
  EXPECT_FALSE(find_flag(words, {"--no"}));
  EXPECT_FALSE(number_of_flag(words, {"--quiet"}));
}

TEST(CommandWords, KnowWhichCommandsAreCalled) {
  const Words words = command_words({{"command", {"/usr/bin/python3", "-m", "sglang.launch_server"}}}, "", {});
  EXPECT_TRUE(calls(words, {"python3", "-m"}));
  EXPECT_TRUE(calls(words, {"-m", "sglang.launch_server"}));
  EXPECT_FALSE(calls(words, {"vllm", "serve"}));
  EXPECT_FALSE(calls(words, {"sglang.launch_server", "more"}));
}

}  // namespace
}  // namespace inference::audit
