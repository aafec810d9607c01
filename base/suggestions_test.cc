#include "base/suggestions.h"

#include <gtest/gtest.h>

namespace inference {
namespace {

TEST(Suggestions, CountEdits) {
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("replica", "replicas"), 1U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("same", "same"), 0U);
}

TEST(Suggestions, AreTheNearestFirstAndOnlyWhatCouldBeMeant) {
  const std::vector<std::string> paths = {"spec.replicas", "spec.selector", "spec.replicas", "metadata.name",
                                          "spec.template"};
  EXPECT_EQ(nearest("spec.replica", paths, 1), std::vector<std::string>{"spec.replicas"});
  EXPECT_EQ(nearest("/spec/replica", paths, 1), std::vector<std::string>{"spec.replicas"});
  EXPECT_TRUE(nearest("zzzzzzzz", paths, 3).empty());
  EXPECT_TRUE(nearest("", paths, 3).empty());
  EXPECT_TRUE(nearest(std::string(100'000, 'a'), paths, 3).empty());
}

TEST(Suggestions, EndAMessage) {
  EXPECT_EQ(did_you_mean("replcas", {"nodes", "replicas"}), "; did you mean replicas?");
  EXPECT_EQ(did_you_mean("vlm", {"generic", "sglang", "tensorrt-llm", "vllm"}), "; did you mean vllm?");
  EXPECT_EQ(did_you_mean("foo", {"cpu", "env"}), "") << "as short as they are, they have nothing in common";
  EXPECT_EQ(did_you_mean("x", {}), "");
}

}  // namespace
}  // namespace inference
