#include "reconcilers/own_writes.h"

#include <gtest/gtest.h>

#include "base/fake_clock.h"

namespace inference::reconcilers {
namespace {

using client::resources::kConfigMap;
using client::resources::kService;

const client::ObjectRef kOwner{"llm", "m"};

Object object(const std::string& name, const std::string& version) {
  return std::make_shared<const Json>(
      Json{{"metadata", {{"namespace", "llm"}, {"name", name}, {"resourceVersion", version}}}});
}

TEST(OwnWrites, ShowsAWriteUntilTheCacheHasComeThatFar) {
  FakeClock clock;
  OwnWrites writes(clock);
  writes.note(kOwner, kService, object("a", "9"));
  writes.note(kOwner, kService, object("a", "12"));
  writes.note(kOwner, kService, object("b", "10"));
  writes.note({"llm", "other"}, kService, object("c", "99"));
  EXPECT_EQ(writes.unseen(kOwner, kService, 9).size(), 2u);
  EXPECT_TRUE(writes.unseen(kOwner, kConfigMap, 0).empty());
  const auto left = writes.unseen(kOwner, kService, 10);
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ((*left[0])["metadata"]["resourceVersion"], "12");
  EXPECT_TRUE(writes.unseen(kOwner, kService, 12).empty());
}

TEST(OwnWrites, BelievesACacheThatLagsForLongAndVersionsThatAreNoNumbers) {
  FakeClock clock;
  OwnWrites writes(clock);
  writes.note(kOwner, kService, object("a", "9"));
  writes.note(kOwner, kService, object("b", "x9"));
  EXPECT_EQ(writes.unseen(kOwner, kService, 1).size(), 1u);
  clock.advance(std::chrono::seconds{11});
  EXPECT_TRUE(writes.unseen(kOwner, kService, 1).empty());
}

TEST(OwnWrites, ForgetsAnOwnerThatIsGone) {
  FakeClock clock;
  OwnWrites writes(clock);
  writes.note(kOwner, kService, object("a", "9"));
  writes.forget(kOwner);
  EXPECT_TRUE(writes.unseen(kOwner, kService, 1).empty());
}

}  // namespace
}  // namespace inference::reconcilers
