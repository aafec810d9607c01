#include "render/template_set.h"

#include <gtest/gtest.h>

#include <random>

namespace inference::render {
namespace {

TEST(TemplateSet, ReadsDataInTheOrderOfTheText) {
  const auto set = TemplateSet::load({{"engines/e.yaml",
                                       "# why: what it listens on\n"
                                       "port: 8000\n"
                                       "flags:              # why: as its command line has them\n"
                                       "  tensor:           # why[docs]: from --help\n"
                                       "    flag: --tp\n"
                                       "  max_len: --len\n"}});
  ASSERT_TRUE(set) << to_string(set.error().front());
  const Template* file = set->find("engines/e.yaml");
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(file->root.json,
            Json::parse(R"({"port": 8000, "flags": {"tensor": {"flag": "--tp"}, "max_len": "--len"}})"));
  const TemplateNode* flags = file->root.find("flags");
  ASSERT_NE(flags, nullptr);
  EXPECT_EQ(flags->children[0].key, "tensor");
  EXPECT_EQ(flags->children[1].key, "max_len");
  EXPECT_EQ(flags->find("none"), nullptr);
  const Reason expected = {.rule = "flag",
                           .text = "from --help",
                           .inputs = {"spec.parallelism.tensor"},
                           .source = "templates/engines/e.yaml:5"};
  EXPECT_EQ(reason_of(*file, *flags->find("tensor")->find("flag"), "flag", {"spec.parallelism.tensor"}), expected);
  EXPECT_EQ(flags->find("tensor")->find("flag")->why.ref, "docs");
  EXPECT_FALSE(flags->find("tensor")->find("flag")->why.own);
}

TEST(TemplateSet, SurvivesAMove) {
  auto loaded = TemplateSet::load({{"a.yaml", "x: !include b.yaml  # why: x\n"}, {"b.yaml", "key: z  # why: x\n"}});
  ASSERT_TRUE(loaded);
  const TemplateSet set = *std::move(loaded);
  EXPECT_EQ(set.find("a.yaml")->root.children[0].included, &set.find("b.yaml")->root);
  EXPECT_EQ(set.files(), (std::vector<std::string_view>{"a.yaml", "b.yaml"}));
  EXPECT_EQ(set.find("c.yaml"), nullptr);
}

TEST(TemplateSet, HasTheDigestThatSha256sumPrints) {
  // printf 'a: b # why: x\n' > a.yaml; sha256sum a.yaml | sha256sum
  const auto set = TemplateSet::load({{"a.yaml", "a: b # why: x\n"}});
  ASSERT_TRUE(set);
  EXPECT_EQ(set->digest(), "sha256:e1997767dae311497b42835261f56dffa9d6f830a4e0dc3622103ec70cb8dc83");
}

/// The lint of what is shipped: without it `embedded()` could throw on a user's machine.
TEST(TemplateSet, EmbedsTemplatesWithoutAFault) {
  ASSERT_FALSE(embedded_template_files().empty());
  const auto set = TemplateSet::load(embedded_template_files());
  if (set) {
    EXPECT_EQ(TemplateSet::embedded().digest(), set->digest());
    return;
  }
  for (const TemplateFault& fault : set.error()) ADD_FAILURE() << to_string(fault);
}

std::string mutated(std::string text, std::mt19937& random) {
  static constexpr std::string_view kPieces[] = {
      "\n", " ",   "#",  "# why: x", "!value a", "!splice",           "- ",   ": ",    "{", "]", "\"", "'",
      "|",  "&a ", "*a", "\t",       "<<: ",     "!include pod.yaml", "\xff", "---\n", "!", "?", "%"};
  for (std::size_t change = 1 + random() % 4; change > 0 && !text.empty(); --change) {
    const std::size_t at = random() % text.size();
    switch (random() % 4) {
      case 0:
        text.erase(at, 1 + random() % 20);
        break;
      case 1:
        text.insert(at, kPieces[random() % std::size(kPieces)]);
        break;
      case 2:
        text[at] = static_cast<char>(random() % 256);
        break;
      default:
        text.insert(at, text.substr(random() % text.size(), random() % 40));
    }
  }
  return text;
}

TEST(TemplateSet, NeverCrashesOnABrokenTemplate) {
  std::mt19937 random(1);  // NOLINT: a fixed seed makes a failure repeat
  int refused = 0;
  int rounds = 0;
  for (int round = 0; round < 12; ++round) {
    for (const auto& [name, text] : embedded_template_files()) {
      const std::string broken = mutated(text, random);
      SCOPED_TRACE(name + " in round " + std::to_string(round) + ":\n" + broken);
      const auto set = TemplateSet::load({{name, broken}});
      ++rounds;
      if (set) continue;
      ++refused;
      for (const TemplateFault& fault : set.error()) {
        EXPECT_FALSE(fault.message.empty());
        EXPECT_LE(fault.line, static_cast<std::size_t>(std::ranges::count(broken, '\n')) + 2);
      }
    }
  }
  EXPECT_GT(refused, rounds / 2) << "the mutations reach nothing";
}

}  // namespace
}  // namespace inference::render
