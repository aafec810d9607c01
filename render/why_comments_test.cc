#include "render/why_comments.h"

#include <gtest/gtest.h>

namespace inference::render {
namespace {

WhyComments scan(std::string_view text) {
  const auto documents = read_yaml(text);
  if (!documents || documents->size() != 1) {
    ADD_FAILURE() << "not one YAML document: " << text;
    return {};
  }
  return scan_why_comments(text, documents->front());
}

TEST(WhyComments, AreReadAtTheEndOfALineAndAboveIt) {
  const WhyComments comments = scan(
      "a: 1  # why: first\n"
      "# why: second\n"
      "b: 2\n");
  ASSERT_TRUE(comments.trailing.contains(1));
  EXPECT_EQ(comments.trailing.at(1).text, "first");
  ASSERT_TRUE(comments.above.contains(3));
  EXPECT_EQ(comments.above.at(3).text, "second");
  EXPECT_EQ(comments.above.at(3).line, 2U);
  EXPECT_TRUE(comments.faults.empty());
}

TEST(WhyComments, KeepTheReference) {
  const WhyComments comments = scan("a: 1  # why[KEP-753]: sidecars start first\n");
  EXPECT_EQ(comments.trailing.at(1).ref, "KEP-753");
  EXPECT_EQ(comments.trailing.at(1).text, "sidecars start first");
}

TEST(WhyComments, JoinTheLinesOfOneComment) {
  const WhyComments comments = scan(
      "# Not a reason.\n"
      "# why: one\n"
      "#   and two\n"
      "#\n"
      "a: 1\n");
  EXPECT_EQ(comments.above.at(5).text, "one and two");
}

TEST(WhyComments, AreNeverTakenFromScalars) {
  const WhyComments comments = scan(
      "script: |\n"
      "  echo 1  # why: no\n"
      "  # why: no\n"
      "\n"
      "  # why: no\n"
      "quoted: \"a # why: no\"\n"
      "single: 'it''s # why: no'\n"
      "long: \"a\n"
      "  # why: no\n"
      "  b\"\n"
      "plain: a#why:no\n"
      "items:\n"
      "- |\n"
      "  # why: no\n"
      "- >-\n"
      "  # why: no\n"
      "- name: |\n"
      "    # why: no\n"
      "  z: 1\n");
  EXPECT_TRUE(comments.above.empty()) << comments.above.begin()->first;
  EXPECT_TRUE(comments.trailing.empty()) << comments.trailing.begin()->first;
  EXPECT_TRUE(comments.faults.empty()) << comments.faults.front().first << comments.faults.front().second;
}

TEST(WhyComments, AreReadBesideScalarsThatLookLikeComments) {
  const WhyComments comments = scan(
      "a: \"#1\"         # why: one\n"
      "b: |             # why: two\n"
      "  # text\n"
      "c: [x, 'y # z']  # why: three\n"
      "d: don't         # why: four\n"
      "# why: five\n"
      "e: >\n"
      "  text\n"
      "f: !value name   # why: six\n");
  ASSERT_EQ(comments.trailing.size(), 5U);
  EXPECT_EQ(comments.trailing.at(1).text, "one");
  EXPECT_EQ(comments.trailing.at(2).text, "two");
  EXPECT_EQ(comments.trailing.at(4).text, "three");
  EXPECT_EQ(comments.trailing.at(5).text, "four");
  EXPECT_EQ(comments.trailing.at(9).text, "six");
  EXPECT_EQ(comments.above.at(7).text, "five");
}

TEST(WhyComments, OfAnEmptyBlockScalarBelongToWhatFollows) {
  const WhyComments comments = scan(
      "a: |\n"
      "# why: about b\n"
      "b: 1\n");
  EXPECT_EQ(comments.above.at(3).text, "about b");
}

TEST(WhyComments, ThatAreMalformedOrAboveNothingAreFaults) {
  const WhyComments comments = scan(
      "# why: lost\n"
      "\n"
      "a: 1  # why:\n"
      "b: 2  # why[: x\n"
      "c: 3  # why[]: x\n"
      "d: 4  # Why: x\n"
      "# why: one\n"
      "# why: two\n"
      "e: 5  # why this is no reason, only a sentence\n"
      "# why: at the end\n");
  const std::vector<std::pair<std::size_t, std::string>> expected = {
      {1, "this reason stands directly above no key or item"},      {3, "this reason has no text"},
      {4, "the reference of this reason has no closing ]"},         {5, "the reference of this reason is empty"},
      {6, "write a reason as `# why: text` or `# why[ref]: text`"}, {8, "two reasons above one line: join them"},
      {10, "this reason stands directly above no key or item"},
  };
  EXPECT_EQ(comments.faults, expected);
}

}  // namespace
}  // namespace inference::render
