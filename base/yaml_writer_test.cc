#include "base/yaml_writer.h"

#include <gtest/gtest.h>

#include <random>

#include "base/yaml_reader.h"

namespace inference {
namespace {

Json read_back(const std::string& text) {
  const auto documents = read_yaml_documents(text);
  if (!documents || documents->size() != 1) {
    ADD_FAILURE() << text << (documents ? "" : documents.error().message);
    return nullptr;
  }
  return documents->front().value;
}

TEST(YamlWriter, WritesBlocksAsKubectlDoes) {
  const Json value =
      Json::parse(R"({"b":{"x":1,"list":[1,"two",[3,4],{"k":"v","l":null},[],{}]},"a":true,"c":{},"d":1.5})");
  EXPECT_EQ(write_yaml(value),
            "a: true\n"
            "b:\n"
            "  list:\n"
            "  - 1\n"
            "  - two\n"
            "  - - 3\n"
            "    - 4\n"
            "  - k: v\n"
            "    l: null\n"
            "  - []\n"
            "  - {}\n"
            "  x: 1\n"
            "c: {}\n"
            "d: 1.5\n");
  EXPECT_EQ(write_yaml(Json::array({1, "x"})), "- 1\n- x\n");
  EXPECT_EQ(write_yaml("text"), "text\n");
  EXPECT_EQ(write_yaml(nullptr), "null\n");
}

TEST(YamlWriter, QuotesWhatAReaderCouldTakeForSomethingElse) {
  for (const std::string text : {"on",          "Off",        "y",
                                 "N",           "yes",        "true",
                                 "null",        "~",          "",
                                 "0123",        "0x1F",       "1e3",
                                 "1_000",       "64",         "-1",
                                 "+.5",         ".inf",       ".NaN",
                                 "12:30",       "2001-12-14", "2001-12-14T21:59:43Z",
                                 "=",           "<<",         "0o17",
                                 "0b1",         "*a",         "&a",
                                 "!t",          "|",          ">",
                                 "%x",          "@x",         "`x",
                                 "'x",          "\"x",        "#x",
                                 "? x",         "- x",        "-",
                                 "---",         "--- x",      "...",
                                 ": x",         "a: b",       "a:",
                                 "a #b",        " a",         "a ",
                                 "[a",          "{a",         ",a",
                                 "a\tb",        "]",          "}",
                                 "\x7F",        "\xC2\x85",   "\xE2\x80\xA8",
                                 "\xEF\xBB\xBF"}) {
    const std::string written = write_yaml(Json{{"k", text}});
    EXPECT_EQ(written.substr(0, 4), "k: \"") << written;
    EXPECT_EQ(read_back(written)["k"], text) << written;
  }
}

TEST(YamlWriter, LeavesOrdinaryTextPlain) {
  for (const std::string text : {"llama-70b",   "hf://meta-llama/Llama",
                                 "512Gi",       "500m",
                                 "--port=8000", "-x",
                                 "a b",         "a#b",
                                 "a:b",         "inference-operator.dev/name",
                                 "sha256:ab",   "$(VAR)",
                                 "it's",        "caf\xC3\xA9",
                                 "v1",          "nvidia.com/gpu",
                                 "100%",        "a, b",
                                 "~x",          "<none>"}) {
    const std::string written = write_yaml(Json{{"k", text}});
    EXPECT_EQ(written, "k: " + text + "\n");
    EXPECT_EQ(read_back(written)["k"], text);
  }
}

TEST(YamlWriter, WritesTextOfManyLinesAsABlock) {
  EXPECT_EQ(write_yaml(Json{{"k", "a\n  b\n\nc\n"}}), "k: |\n  a\n    b\n\n  c\n");
  EXPECT_EQ(write_yaml(Json{{"k", "a\nb"}}), "k: |-\n  a\n  b\n");
  EXPECT_EQ(write_yaml(Json{{"k", "a\n\n\n"}, {"l", 1}}), "k: |+\n  a\n\n\nl: 1\n");
  EXPECT_EQ(write_yaml(Json::array({"set -e\necho # no comment\n"})), "- |\n  set -e\n  echo # no comment\n");
  for (const std::string text :
       {"a\n", "a\nb", "a\n\n", "a\n\n\n", "\na", "\n", "\n\n", " a\nb", "a\n ", "a\n \n", "a\n b \n", "\ta\nb",
        "a\r\nb", "a\n\tb\n", "a\n---\nb\n", "a\n#b\n", "a\n\x1b", "x: y\nz\n"}) {
    EXPECT_EQ(read_back(write_yaml(Json{{"k", text}, {"l", Json::array({text, Json{{"m", text}}})}, {"z", 1}})),
              (Json{{"k", text}, {"l", Json::array({text, Json{{"m", text}}})}, {"z", 1}}))
        << Json(text).dump();
  }
}

TEST(YamlWriter, ReplacesBytesThatNoYamlCanHold) {
  EXPECT_EQ(write_yaml(Json{{"k",
                             "a\xFF"
                             "b"}}),
            "k: \"a\xEF\xBF\xBD"
            "b\"\n");
}

TEST(YamlWriter, RoundTripsRandomValues) {
  const std::vector<std::string> parts = {"a",
                                          "B",
                                          "0",
                                          "1",
                                          "e",
                                          ".",
                                          "-",
                                          "+",
                                          ":",
                                          " ",
                                          "\n",
                                          "\t",
                                          "#",
                                          "'",
                                          "\"",
                                          "\\",
                                          "{",
                                          "}",
                                          "[",
                                          "]",
                                          ",",
                                          "&",
                                          "*",
                                          "!",
                                          "|",
                                          ">",
                                          "%",
                                          "@",
                                          "~",
                                          "=",
                                          "<",
                                          "_",
                                          "\xC3\xA9",
                                          "\xF0\x9F\x98\x80",
                                          "\xE2\x80\xA8",
                                          "\x7F",
                                          "\r",
                                          "no",
                                          "---",
                                          "...",
                                          "null"};
  std::mt19937 random(20260102);
  const auto below = [&random](std::size_t bound) { return static_cast<std::size_t>(random() % bound); };
  const auto text = [&] {
    std::string out;
    for (std::size_t i = below(7); i > 0; --i) out += parts[below(parts.size())];
    return out;
  };
  for (int round = 0; round < 300; ++round) {
    Json value = Json::object();
    for (std::size_t i = 0; i < 3; ++i) {
      value[text()] = text();
      value[text()] = Json::array({text(), Json{{text(), text()}}, Json::array({text()})});
    }
    const std::string written = write_yaml(value);
    ASSERT_EQ(read_back(written).dump(), value.dump()) << written;
  }
}

}  // namespace
}  // namespace inference
