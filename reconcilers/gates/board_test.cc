#include "reconcilers/gates/board.h"

#include <gtest/gtest.h>

namespace inference::reconcilers::gates {
namespace {

const client::ObjectRef kA{"llm", "a"};
const client::ObjectRef kB{"llm", "b"};
using Refs = std::vector<client::ObjectRef>;

TEST(Board, TellsTheOwnersOfWhomSomethingNewIsSaid) {
  Board board;
  EXPECT_EQ(board.publish({{kA, "t", "x"}, {kB, "t", "y"}}), (Refs{kA, kB}));
  EXPECT_EQ(board.publish({{kA, "t", "x"}, {kB, "t", "z"}}), (Refs{kB}));
  EXPECT_EQ(board.publish({{kB, "t", "z"}}), (Refs{kA}));
  EXPECT_FALSE(board.of(kA).has_value());
  EXPECT_EQ(board.of(kB)->why, "z");
}

TEST(Board, SpeaksOfTheGroupThatWaitsLongestAndCountsTheOthers) {
  Board board;
  EXPECT_EQ(board.publish({{kA, "1", "x"}, {kA, "2", "y"}, {kA, "3", "z"}}), (Refs{kA}));
  EXPECT_EQ(board.of(kA)->why, "x; 2 more groups wait");
  EXPECT_EQ(board.of(kA)->since, "1");
}

}  // namespace
}  // namespace inference::reconcilers::gates
