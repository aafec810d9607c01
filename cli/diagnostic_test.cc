#include "cli/diagnostic.h"

#include <gtest/gtest.h>

#include "cli/object_lines.h"

namespace inference::cli {
namespace {

TEST(Diagnostic, SaysOnlyWhatIsKnown) {
  EXPECT_EQ(to_string({.file = "a.yaml", .line = 3, .path = "spec.nodes", .message = "is wrong"}),
            "a.yaml:3: spec.nodes: is wrong");
  EXPECT_EQ(to_string({.file = "a.yaml", .line = 0, .path = "", .message = "is empty"}), "a.yaml: is empty");
  EXPECT_EQ(to_string({.file = "", .line = 0, .path = "--path", .message = "is unknown"}), "--path: is unknown");
}

TEST(Diagnostic, KeepsControlCharactersFromTheTerminal) {
  EXPECT_EQ(to_lines({{.file = "a\x1b[2J", .line = 1, .path = "spec.\xFF", .message = "one\ntwo"}}, "error"),
            "error: a\\x1B[2J:1: spec.\\xFF: one\\ntwo\n");
}

TEST(ObjectLines, TurnFieldPathsIntoPointers) {
  EXPECT_EQ(pointer_of(""), "");
  EXPECT_EQ(pointer_of("spec.engine.env[0].name"), "/spec/engine/env/0/name");
  EXPECT_EQ(pointer_of("metadata.labels[a.b/c]"), "/metadata/labels/a.b~1c");
  EXPECT_EQ(pointer_of("metadata.labels['a.b~c'].x"), "/metadata/labels/a.b~0c/x");
  EXPECT_EQ(pointer_of("a[unclosed"), "/a/unclosed");
}

TEST(ObjectLines, FindFieldsOfAnObjectInAList) {
  const auto documents = read_yaml_documents("items:\n- spec:\n    nodes: 1\n- spec:\n    nodes: 2\n");
  ASSERT_TRUE(documents);
  EXPECT_EQ(line_of(documents->front(), "/items/1", "spec.nodes"), 5U);
  EXPECT_EQ(line_of(documents->front(), "/items/1", "spec.missing"), 4U);
}

}  // namespace
}  // namespace inference::cli
