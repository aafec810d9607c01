#include "base/yaml_reader.h"

#include <gtest/gtest.h>

#include <random>

#include "base/utf8.h"

namespace inference {
namespace {

/// The only document of `text`; null and a failure when it is refused.
Json value_of(std::string_view text) {
  const auto documents = read_yaml_documents(text);
  if (!documents || documents->size() != 1) {
    ADD_FAILURE() << text << ": "
                  << (documents ? std::to_string(documents->size()) + " documents" : documents.error().message);
    return nullptr;
  }
  return documents->front().value;
}

YamlError error_of(std::string_view text, const YamlLimits& limits = {}) {
  const auto documents = read_yaml_documents(text, limits);
  if (!documents) return documents.error();
  ADD_FAILURE() << "was taken: " << escape_for_terminal(text.substr(0, 80));
  return {};
}

TEST(YamlReader, TypesPlainScalarsAsKubectlDoes) {
  const std::map<std::string, Json> cases = {{"yes", true},
                                             {"On", true},
                                             {"y", true},
                                             {"TRUE", true},
                                             {"no", false},
                                             {"off", false},
                                             {"N", false},
                                             {"tRUE", "tRUE"},
                                             {"~", nullptr},
                                             {"null", nullptr},
                                             {"Null", nullptr},
                                             {"nULL", "nULL"},
                                             {"\"yes\"", "yes"},
                                             {"'1'", "1"},
                                             {"\"\"", ""},
                                             {"0", 0},
                                             {"-7", -7},
                                             {"+7", 7},
                                             {"0123", 83},
                                             {"0o17", 15},
                                             {"0x1F", 31},
                                             {"-0x1f", -31},
                                             {"0b101", 5},
                                             {"1_000", 1000},
                                             {"08", 8},
                                             {"089", 89},
                                             {"0x", "0x"},
                                             {"0xZ", "0xZ"},
                                             {"--1", "--1"},
                                             {"0x-1", "0x-1"},
                                             {"-x", "-x"},
                                             {"+", "+"},
                                             {"1e3", 1000},
                                             {"1.0", 1},
                                             {"1.5", 1.5},
                                             {".5", 0.5},
                                             {"-.5", -0.5},
                                             {"1.", 1},
                                             {"1e-2", 0.01},
                                             {".", "."},
                                             {".e3", ".e3"},
                                             {"1e", "1e"},
                                             {"1e400", "1e400"},
                                             {"1e-400", 0},
                                             {".5_0", ".5_0"},
                                             {"0x1p-2", "0x1p-2"},
                                             {"1_5.2_5", 15.25},
                                             {"9223372036854775807", INT64_MAX},
                                             {"-9223372036854775808", INT64_MIN},
                                             {"9223372036854775808", 9223372036854775808U},
                                             {"18446744073709551615", UINT64_MAX},
                                             {"18446744073709551616", 18446744073709551616.0},
                                             {"-9223372036854775809", INT64_MIN},
                                             {"0xFFFFFFFFFFFFFFFF", UINT64_MAX},
                                             {"0x1FFFFFFFFFFFFFFFF", "0x1FFFFFFFFFFFFFFFF"},
                                             {"-0xFFFFFFFFFFFFFFFF", "-0xFFFFFFFFFFFFFFFF"},
                                             {"0o7777777777777777777777777", "0o7777777777777777777777777"},
                                             {"02777777777777777777777", 2777777777777777777777.0},
                                             {"2001-12-14", "2001-12-14"},
                                             {"12:30", "12:30"},
                                             {"1.2.3", "1.2.3"},
                                             {"512Gi", "512Gi"},
                                             {"500m", "500m"},
                                             {"=", "="}};
  for (const auto& [text, expected] : cases) EXPECT_EQ(value_of("a: " + text)["a"].dump(), expected.dump()) << text;
  EXPECT_TRUE(value_of("a: 1e3")["a"].is_number_integer());
  EXPECT_TRUE(value_of("a: 18446744073709551615")["a"].is_number_unsigned());
  EXPECT_TRUE(value_of("a: 18446744073709551616")["a"].is_number_float());
  EXPECT_EQ(value_of("a: |\n  1\n")["a"], "1\n") << "a block is text";
}

TEST(YamlReader, RefusesNumbersThatJsonDoesNotHave) {
  for (const std::string text : {".nan", ".inf", "-.Inf", "+.INF"}) {
    const YamlError error = error_of("a: 1\nb: " + text);
    EXPECT_EQ(error.line, 2U);
    EXPECT_NE(error.message.find("JSON"), std::string::npos);
  }
}

TEST(YamlReader, MakesTextOfKeysAsKubectlDoes) {
  EXPECT_EQ(value_of("on: 1\n0x10: 2\n\"off\": 3\n").dump(), R"({"16":2,"off":3,"true":1})");
  EXPECT_EQ(error_of("a: 1\n1.5: 2\n").line, 2U);
  EXPECT_NE(error_of("a: 1\nyes: 2\non: 3\n").message.find("duplicate key \"true\""), std::string::npos);
}

TEST(YamlReader, TakesJson) {
  EXPECT_EQ(value_of(R"({"a":[1,{"b":"x\n\"\/"}],"c":null,"d":true,"e":1.5e3})").dump(),
            R"({"a":[1,{"b":"x\n\"/"}],"c":null,"d":true,"e":1500})");
  EXPECT_EQ(value_of("{\n\t\"a\": 1,\n\t\"b\": [\n\t\t2\n\t]\n}\n").dump(), R"({"a":1,"b":[2]})")
      << "indented with tabs";
  EXPECT_EQ(value_of(R"({"a":"\ud83d\ude00 \\ud83d\\ude00 \u00e9"})")["a"], "\xF0\x9F\x98\x80 \\ud83d\\ude00 \xC3\xA9");
}

TEST(YamlReader, KeepsOrderTagsQuotesAndPositions) {
  const auto nodes = read_yaml("b: !value x\na: 'q'\nc:\n  - !include f.yaml\n  - !optional\n  - ~\n");
  ASSERT_TRUE(nodes) << nodes.error().message;
  const auto& entries = nodes->at(0).entries;
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries[0].key, "b");
  EXPECT_EQ(entries[0].value.tag, "!value");
  EXPECT_EQ(entries[0].value.scalar, "x");
  EXPECT_TRUE(entries[0].value.plain);
  EXPECT_FALSE(entries[1].value.plain);
  EXPECT_EQ(entries[1].key_line, 2U);
  const auto& items = entries[2].value.items;
  ASSERT_EQ(items.size(), 3U);
  EXPECT_EQ(items[0].tag, "!include");
  EXPECT_EQ(items[0].line, 4U);
  EXPECT_EQ(items[0].column, 5U);
  EXPECT_EQ(items[1].tag, "!optional");
  EXPECT_EQ(items[1].scalar, "");
  EXPECT_EQ(items[2].kind, YamlNode::Kind::kNull);
}

TEST(YamlReader, KnowsTheLineOfEachPointer) {
  const auto documents =
      read_yaml_documents("# one\na: 1\n---\nb:\n  c/d~e:\n    - 1\n    - x: 2\n---\n# nothing\n---\nlast: true\n");
  ASSERT_TRUE(documents) << documents.error().message;
  ASSERT_EQ(documents->size(), 3U) << "the empty document is left out";
  EXPECT_EQ(documents->at(0).line_of("/a"), 2U);
  const JsonDocument& second = documents->at(1);
  EXPECT_EQ(second.line_of(""), 4U);
  EXPECT_EQ(second.line_of("/b/c~1d~0e"), 5U);
  EXPECT_EQ(second.line_of("/b/c~1d~0e/1/x"), 7U);
  EXPECT_EQ(second.line_of("/b/c~1d~0e/1/missing/deeper"), 7U) << "the nearest ancestor";
  EXPECT_EQ(second.line_of("/nowhere"), 4U);
  EXPECT_EQ(documents->at(2).line_of("/last"), 11U);
}

TEST(YamlReader, ExpandsAliases) {
  EXPECT_EQ(value_of("a: &x {b: [1]}\nc: *x\nd: [*x, &y 5, *y]\n").dump(),
            R"({"a":{"b":[1]},"c":{"b":[1]},"d":[{"b":[1]},5,5]})");
  EXPECT_EQ(value_of("a: &x 1\nb: &x 2\nc: *x\n")["c"], 2) << "the latest anchor of a name counts";
  EXPECT_EQ(value_of("&k a: 1\nb: *k\n")["b"], "a");
}

TEST(YamlReader, AcceptsAByteOrderMarkAndEveryLineBreak) {
  EXPECT_EQ(value_of("\xEF\xBB\xBF"
                     "a: 1")["a"],
            1);
  EXPECT_EQ(value_of("a: 1\rb: 2\r").dump(), R"({"a":1,"b":2})");
  EXPECT_EQ(value_of("a: 1\r\nb: |\r\n  x\r\n  y\r\n")["b"], "x\ny\n");
  EXPECT_EQ(error_of("a: 1\r\nb: [\r\n").line, 3U);
}

std::string repeated(std::string_view part, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += part;
  return text;
}

struct Refusal {
  std::string text;
  std::size_t line;
  std::string message;  // a part of it
};

TEST(YamlReader, RefusesBadInputAndSaysWhere) {
  const std::vector<Refusal> cases = {
      {"a: 1\nb: \xFF\n", 2, "not valid UTF-8"},
      {std::string("a: 1\nb: \0", 9), 2, "control character \\x00"},
      {"a: \x04 b\n", 1, "control character \\x04"},
      {"a: 1\na: 2\n", 2, "duplicate key \"a\""},
      {"a:\n  b: 1\n  c: 2\n  b: 3\n", 4, "duplicate key \"b\""},
      {"{\"a\": 1, \"a\": 2}", 1, "duplicate key"},
      {"? [a, b]\n: c\n", 1, "key must be text"},
      {"? {a: b}\n: c\n", 1, "key must be text"},
      {"~: c\n", 1, "key must be text"},
      {"x: &x {b: 1}\na:\n  <<: *x\n", 3,
       "merge keys (<<) are not taken, though kubectl takes them: write the fields out"},
      {"&a [*a, *a]\n", 1, "alias must not refer to a value that it is part of"},
      {"a: *nobody\n", 1, "anchor"},
      {"a: 1\n\tb: c\n", 2, "tabs must not indent"},
      {"a:\n  b: 1\n\tc: 2\n", 3, "tabs must not indent"},
      {"a: b: c\n", 1, "mapping value is not allowed here"},
      {"a: \"x\n", 2, "not closed"},
      {"a: \"x\n  \n  ", 4, "not closed"},
      {"a: \"x", 1, "not closed"},
      {"a: 'x\n", 2, "not closed"},
      {"a: [1, 2\n", 2, "not closed"},
      {"a: {b: 1\n", 2, "not closed"},
      {"a: [1}\n", 1, ""},
      {"a: 1\n]\n", 2, "closing bracket"},
      {"- a\nb: c\n", 2, "follows the end of a document"},
      {"{\"a\":1}{\"b\":2}", 1, "follows the end of a document"},
      {"a: !value x\n", 1, "tag !value is not taken: only templates"},
      {"a: !!int \"3\"\n", 1, "tag !!int is not taken, though kubectl may: write the plain value"},
      {"a: !!binary aGk=\n", 1, "write the decoded text"},
      {"a: !!str 1\n", 1, "put the text in quotes"},
      {"a: \"\\0\"\n", 1, "NUL"},
      {"a: \"\\ud800\"\n", 1, "invalid unicode"},
      {"a: \"\\q\"\n", 1, "unknown escape"},
      {"%YAML 3.0\n---\na: 1\n", 1, "YAML"},
      {"%YAML 1.1\n%YAML 1.1\n---\na: 1\n", 2, "YAML"},
      {"a\n...\n, b\n", 3, "begins no value"},
      {"--- {a: 1},\n", 1, "begins no value"},
      {"a: @x\n", 1, ""},
      {"a: `x\n", 1, ""},
      {"a: |x\n  y\n", 1, ""},
      {"a: !<x y\n", 1, ""},
  };
  for (const Refusal& refusal : cases) {
    const YamlError error = error_of(refusal.text);
    EXPECT_EQ(error.line, refusal.line) << escape_for_terminal(refusal.text) << ": " << error.message;
    EXPECT_NE(error.message.find(refusal.message), std::string::npos)
        << escape_for_terminal(refusal.text) << ": " << error.message;
    EXPECT_FALSE(error.message.empty());
  }
}

TEST(YamlReader, TakesDirectivesAndDocumentEnds) {
  EXPECT_EQ(value_of("%YAML 1.2\n---\na: 1\n...\n")["a"], 1);
  const auto documents = read_yaml_documents("a: 1\n...\n# note\nb: 2\n");
  ASSERT_TRUE(documents) << documents.error().message;
  EXPECT_EQ(documents->size(), 2U);
  EXPECT_EQ(read_yaml_documents("a: 1\n...\nb: 2\n---\nc: 3\n--- # note\nd: 4\n...\n\n  \n# x\ne: 5\n")->size(), 5U);
  EXPECT_EQ(error_of("a: 1\n...\nb: 2\n---\n- c\nd: 4\n").line, 6U);
  EXPECT_TRUE(read_yaml_documents(repeated("---\n", 100'000))->empty()) << "in time linear in the documents";
  EXPECT_TRUE(read_yaml_documents("")->empty());
  EXPECT_TRUE(read_yaml_documents("\n# only a comment\n---\n---\n~\n")->empty());
}

TEST(YamlReader, BoundsSizeDepthAndNodes) {
  EXPECT_NE(error_of(std::string(10'000'000, 'x')).message.find("larger than"), std::string::npos);
  for (const std::string_view part : {"[", "{a: ", "- ", "? "}) {
    for (const std::size_t times : {150U, 1'000U, 20'000U}) {
      const YamlError error = error_of(repeated(part, times));
      EXPECT_NE(error.message.find("nested"), std::string::npos) << part << times << ": " << error.message;
    }
  }
  EXPECT_NE(error_of(repeated("[", 2'900'000)).message.find("nodes"), std::string::npos);
  EXPECT_NE(error_of(repeated("- 1\n", 2'000), {.nodes = 1'000}).message.find("nodes"), std::string::npos);
  EXPECT_EQ(value_of(repeated("[", 100) + repeated("]", 100)).size(), 1U) << "as deep as is allowed";
}

TEST(YamlReader, DefusesAliasBombs) {
  std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 20; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before + repeated("," + before, 8) + "]\n";
  }
  EXPECT_NE(error_of(bomb, {.nodes = 20'000}).message.find("nodes"), std::string::npos);

  std::string ladder = "a0: &a0 [x]\n";
  for (int i = 1; i < 200; ++i)
    ladder += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) + "]\n";
  EXPECT_NE(error_of(ladder).message.find("nested"), std::string::npos) << "depth adds up through aliases";
}

TEST(YamlReader, SurvivesRandomMutations) {
  const std::string seed =
      "# note\napiVersion: v1\nkind: List\nitems:\n- &x {a: [1, 'two', \"thr\\u00e9e\"]}\n- b: |-\n    x\n    y\n- "
      "*x\n- ? k\n  : !tag v\n- >\n"
      "  folded\n  text\n---\n{\"json\": [null, true, 1.5e3, {\"x\": \"\\u00e9\"}]}\n...\n%YAML 1.2\n--- !!map\nlast: "
      "~\n";
  const std::vector<std::string> parts = {"[",        "]",    "{",  "}",    ":",     "-",     "? ", ": ",  "\n",
                                          " ",        "  ",   "\t", "'",    "\"",    "&a ",   "*a", "!",   "!!",
                                          "!<",       "|",    ">",  "%",    "---\n", "...\n", "#",  ",",   "\\",
                                          "\xC3\xA9", "\xFF", "0",  "<<: ", "\r",    "@",     "`",  "\x01"};
  std::mt19937 random(20260101);
  const auto below = [&random](std::size_t bound) { return static_cast<std::size_t>(random() % bound); };
  std::size_t taken = 0;
  for (int round = 0; round < 500; ++round) {
    std::string text = seed;
    for (std::size_t change = 1 + below(6); change > 0; --change) {
      const std::size_t at = below(text.size() + 1);
      switch (below(3)) {
        case 0:
          text.insert(at, parts[below(parts.size())]);
          break;
        case 1:
          text.erase(at, below(8));
          break;
        default:
          text.insert(at, text.substr(below(text.size()), below(20)));
          break;
      }
      if (text.empty()) text = "a";
    }
    const auto nodes = read_yaml(text);
    if (!nodes) {
      EXPECT_FALSE(nodes.error().message.empty());
      continue;
    }
    ++taken;
    for (const YamlNode& node : *nodes) {
      const auto document = to_json(node);
      if (document) static_cast<void>(document->value.dump());  // throws for invalid UTF-8
    }
  }
  EXPECT_GT(taken, 50U) << "the mutations must not all be refused at once";
}

}  // namespace
}  // namespace inference
