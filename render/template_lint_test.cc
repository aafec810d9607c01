#include <gtest/gtest.h>

#include "render/template_set.h"

namespace inference::render {

struct LintValues {
  Traced<std::int64_t> one;
  std::optional<Traced<std::string>> perhaps;
  std::vector<Traced<std::string>> many;
};
template <>
inline constexpr auto kHolesOf<LintValues> = std::tuple{
    Hole{"one", &LintValues::one},
    Hole{"perhaps", &LintValues::perhaps},
    Hole{"many", &LintValues::many},
};

namespace {

using Files = std::map<std::string, std::string>;

std::vector<std::string> faults_of(const Files& files, std::vector<TemplateSchema> schemas = {}) {
  const auto set = TemplateSet::load(files, schemas);
  std::vector<std::string> texts;
  if (set) return texts;
  for (const TemplateFault& fault : set.error()) texts.push_back(to_string(fault));
  return texts;
}

/// The faults of one file t.yaml, without its name: "12: message".
std::vector<std::string> faults_of(const std::string& text) {
  std::vector<std::string> texts = faults_of(Files{{"t.yaml", text}});
  for (std::string& fault : texts) fault = fault.substr(std::string("templates/t.yaml:").size());
  return texts;
}

using Faults = std::vector<std::string>;

constexpr std::string_view kHint = ": end the line with `# why: …`";

TEST(TemplateLint, TakesAGoodTemplate) {
  EXPECT_EQ(faults_of("a: !value one         # why: x\n"
                      "b:                    # why: x\n"
                      "  c: text\n"
                      "  d: 8                # why: x\n"
                      "  e: {f: 1, g: [2]}   # why: x\n"
                      "  # why: x\n"
                      "  h:\n"
                      "  - !optional perhaps # why: x\n"
                      "  - !splice many      # why: x\n"),
            Faults{});
}

TEST(TemplateLint, WantsAReasonForEveryLine) {
  EXPECT_EQ(faults_of("a:\n"
                      "  b: text\n"
                      "  c: text\n"
                      "d: text  # why: x\n"),
            Faults{"1: no reason, neither here nor above" + std::string(kHint)});
}

TEST(TemplateLint, WantsTheOwnReasonOfHolesAndFigures) {
  EXPECT_EQ(faults_of("a:  # why: inherited is not enough\n"
                      "  b: !value one\n"
                      "  c: !optional perhaps\n"
                      "  d: [!splice many]\n"
                      "  e: 8\n"
                      "  f: 64Gi\n"
                      "  g: \"25%\"\n"
                      "  h: 600s\n"
                      "  i:\n"
                      "  - 1\n"
                      "  - text\n"),
            (Faults{"2: !value one has no reason of its own" + std::string(kHint),
                    "3: !optional perhaps has no reason of its own" + std::string(kHint),
                    "4: !splice many has no reason of its own" + std::string(kHint),
                    "5: the figure 8 has no reason of its own" + std::string(kHint),
                    "6: the figure \"64Gi\" has no reason of its own" + std::string(kHint),
                    "7: the figure \"25%\" has no reason of its own" + std::string(kHint),
                    "8: the figure \"600s\" has no reason of its own" + std::string(kHint),
                    "10: the figure 1 has no reason of its own" + std::string(kHint)}));
}

TEST(TemplateLint, GivesACommentBesideTheFirstKeyOfAnItemToThatKeyAlone) {
  EXPECT_EQ(faults_of("a:  # why: x\n"
                      "- b: 1  # why: about b\n"
                      "  c: 2\n"),
            Faults{"3: the figure 2 has no reason of its own" + std::string(kHint)});
}

TEST(TemplateLint, RefusesUnknownAndMisplacedTags) {
  EXPECT_EQ(faults_of("# why: x\n"
                      "a: !if one\n"
                      "b: !splice many  # why: x\n"
                      "c: !value        # why: x\n"
                      "d: !value a b    # why: x\n"
                      "e: !value [x]    # why: x\n"
                      "f: !!str x       # why: x\n"),
            (Faults{"2: unknown tag !if: there are !value, !optional, !splice and !include",
                    "3: !splice puts items into the list around it, and `b` is no list item: use !value",
                    "4: !value takes the name of a hole: a letter, then letters, digits and _",
                    "5: !value takes the name of a hole: a letter, then letters, digits and _",
                    "6: !value takes the name of a hole: a letter, then letters, digits and _",
                    "7: unknown tag !!str: there are !value, !optional, !splice and !include"}));
}

TEST(TemplateLint, RefusesAmbiguousScalarsAndKeys) {
  EXPECT_EQ(faults_of("a: on    # why: x\n"
                      "on: a    # why: x\n"
                      "\"off\": \"yes\"  # why: x\n"
                      "b: 0123  # why: x\n"),
            (Faults{"1: ambiguous plain scalar on: quote it if it is text, else write true, false, null or a plain "
                    "decimal number",
                    "2: ambiguous plain key on: quote it",
                    "4: ambiguous plain scalar 0123: quote it if it is text, else write true, false, null or a plain "
                    "decimal number"}));
}

TEST(TemplateLint, RefusesAnchorsTabsDuplicateKeysAndSecondDocuments) {
  const std::string anchor = "anchors and aliases are not taken: use !include";
  EXPECT_EQ(faults_of("a: &x text      # why: x\n"
                      "b: &y {c: text} # why: x\n"
                      "d: *y           # why: x\n"
                      "e: !value &z q  # why: x\n"
                      "f: &v !value q  # why: x\n"),
            (Faults{"1: " + anchor, "2: " + anchor, "4: " + anchor, "5: " + anchor}));
  EXPECT_EQ(faults_of("a: x \t # why: x\n"), Faults{"1: tab: use spaces"});
  EXPECT_EQ(faults_of("a: x  # why: x\na: y  # why: x\n").size(), 1U);
  EXPECT_EQ(faults_of("a: x  # why: x\n---\nb: y  # why: x\n").size(), 1U);
  EXPECT_EQ(faults_of(Files{{"t.yaml", ""}}), Faults{"templates/t.yaml: empty file"});
}

TEST(TemplateLint, RefusesValuesInAShellsProgramText) {
  const std::string message = " in the text of a shell's -c: a value there could become code; pass it by env";
  for (const char* list : {"[sh, -c, !value one]", "[/bin/bash, -ec, !value one]", "[/bin/sh, -e, -x, -c, !value one]",
                           "[env, sh, -c, !value one]", "[!value shell, -c, !value one]"}) {
    const Faults faults = faults_of("a: " + std::string(list) + "  # why: x\n");
    EXPECT_EQ(faults, Faults{"1: !value one" + message}) << list;
  }
  EXPECT_EQ(faults_of("a: [sh, -c, !splice many]  # why: x\n"), Faults{"1: !splice many" + message});
  EXPECT_EQ(faults_of("a:  # why: x\n"
                      "  command: [sh, -c]\n"
                      "  args: [!value one]  # why: x\n"),
            Faults{"3: !value one" + message});
  EXPECT_EQ(faults_of("a:  # why: x\n"
                      "  command: [sh, -c]\n"
                      "  args: !value many  # why: x\n"),
            Faults{"3: !value many" + message});
  EXPECT_EQ(
      faults_of(Files{{"t.yaml", "a: [sh, -c, !include u.yaml]  # why: x\n"}, {"u.yaml", "!value one  # why: x\n"}}),
      Faults{"templates/t.yaml:1: !include u.yaml" + message});
}

TEST(TemplateLint, TakesConstantProgramTextAndValuesOfOtherOptions) {
  for (const char* list : {"[sh, -c, echo, !value one]", "[prog, -c, !value one]", "[sh, --config, !value one]",
                           "[sh, -e, !value one]", "[-c, !value one]"}) {
    EXPECT_EQ(faults_of("a: " + std::string(list) + "  # why: x\n"), Faults{}) << list;
  }
}

TEST(TemplateLint, RefusesIncludesOfMissingFilesAndCycles) {
  EXPECT_EQ(faults_of("a: !include none.yaml  # why: x\n"), Faults{"1: !include of none.yaml: there is no such file"});
  EXPECT_EQ(
      faults_of(Files{{"a.yaml", "a: !include b.yaml  # why: x\n"}, {"b.yaml", "b: !include a.yaml  # why: x\n"}}),
      Faults{"templates/b.yaml:1: !include of a.yaml leads back to this file"});
  EXPECT_EQ(faults_of("!include t.yaml  # why: x\n"), Faults{"1: !include of t.yaml leads back to this file"});
}

TEST(TemplateLint, RefusesIncludesThatMultiply) {
  Files files{{"0.yaml", "[a, a, a, a, a, a, a, a, a, a]  # why: x\n"}};
  for (int i = 1; i < 30; ++i) {
    const std::string below = "!include " + std::to_string(i - 1) + ".yaml";
    std::string list = "# why: x\n[" + below;
    for (int copy = 0; copy < 9; ++copy) list += ", " + below;
    files[std::to_string(i) + ".yaml"] = list + "]\n";
  }
  EXPECT_FALSE(faults_of(files).empty());
}

TEST(TemplateLint, ComparesHolesWithTheStruct) {
  const std::vector<TemplateSchema> schemas = {schema_of<LintValues>("t.yaml")};
  EXPECT_EQ(faults_of(Files{{"t.yaml",
                             "a: !value one         # why: x\n"
                             "b: !optional perhaps  # why: x\n"
                             "c: !value many        # why: x\n"}},
                      schemas),
            Faults{});
  EXPECT_EQ(
      faults_of(Files{{"t.yaml",
                       "a: !optional one    # why: x\n"
                       "b: !value perhaps   # why: x\n"
                       "c: !value two       # why: x\n"}},
                schemas),
      (Faults{
          "templates/t.yaml: hole many is offered by the C++ struct, but no line names it",
          "templates/t.yaml:1: !optional one does not fit: the member is a single value: name it with !value",
          "templates/t.yaml:2: !value perhaps does not fit: the member is an optional value: name it with !optional",
          "templates/t.yaml:3: unknown hole two: no member of the C++ structs has that name"}));
}

TEST(TemplateLint, FollowsIncludesWhenItComparesHoles) {
  const std::vector<TemplateSchema> schemas = {schema_of<LintValues>("t.yaml"), schema_of<LintValues>("gone.yaml")};
  EXPECT_EQ(
      faults_of(Files{{"t.yaml", "a: !include u.yaml  # why: x\n"},
                      {"u.yaml",
                       "- !value one        # why: x\n- !optional perhaps # why: x\n- !value three      # why: x\n"},
                      {"v.yaml", "a: !value one       # why: x\n"}},
                schemas),
      (Faults{"templates/gone.yaml: is filled by the program, but there is no such file",
              "templates/t.yaml: hole many is offered by the C++ struct, but no line names it",
              "templates/u.yaml:3: unknown hole three: no member of the C++ structs has that name",
              "templates/v.yaml: has holes, but no C++ struct fills it and no other file includes it"}));
}

TEST(TemplateLint, TellsOfEveryFileAtOnce) {
  EXPECT_EQ(
      faults_of(Files{{"a.yaml", "a: [\n"}, {"b.yaml", "b: !include a.yaml  # why: x\n"}, {"c.yaml", "c: 1\n"}}).size(),
      2U);
}

}  // namespace
}  // namespace inference::render
