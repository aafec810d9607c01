#include "reconcilers/own_writes.h"

#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "operator/client/api_client.h"

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
  runtime::StoreWriter store;
  const runtime::Lister cache = store.lister();
  writes.note(kOwner, kService, object("a", "9"), cache);
  writes.note(kOwner, kService, object("a", "12"), cache);
  writes.note(kOwner, kService, object("b", "10"), cache);
  writes.note({"llm", "other"}, kService, object("c", "99"), cache);
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
  runtime::StoreWriter store;
  const runtime::Lister cache = store.lister();
  writes.note(kOwner, kService, object("a", "9"), cache);
  writes.note(kOwner, kService, object("b", "x9"), cache);
  EXPECT_EQ(writes.unseen(kOwner, kService, 1).size(), 1u);
  clock.advance(OwnWrites::kTrustedFor + std::chrono::seconds{1});
  EXPECT_TRUE(writes.unseen(kOwner, kService, 1).empty());
}

TEST(OwnWrites, OutlastsAWatchThatFroze) {
  EXPECT_GT(OwnWrites::kTrustedFor, client::ClientOptions{}.idle_timeout);
}

TEST(OwnWrites, LetsGoOfWhatTheCacheHasShown) {
  FakeClock clock;
  OwnWrites writes(clock);
  runtime::StoreWriter store;
  const runtime::Lister cache = store.lister();
  const auto child = [](const std::string& version) {
    Json shown = *object("a", version);
    shown["metadata"]["ownerReferences"] = {{{"kind", "InferenceDeployment"}, {"name", "m"}, {"controller", true}}};
    return std::make_shared<const Json>(std::move(shown));
  };
  const auto held = [&](const client::Resource& resource) { return writes.unseen(kOwner, resource, 0).size(); };
  writes.note(kOwner, kService, child("9"), cache);
  writes.note(kOwner, kConfigMap, child("9"), cache);
  writes.see(kService, {.ref = {"llm", "a"}, .before = nullptr, .after = child("8")});
  writes.see(kService, {.ref = {"llm", "b"}, .before = nullptr, .after = child("10")});
  EXPECT_EQ(held(kService), 1u) << "shown: an older version, and another object";
  writes.see(kService, {.ref = {"llm", "a"}, .before = child("8"), .after = child("9")});
  EXPECT_EQ(held(kService), 0u);
  EXPECT_EQ(held(kConfigMap), 1u);
  writes.see(kConfigMap, {.ref = {"llm", "a"}, .before = child("8"), .after = nullptr});
  EXPECT_EQ(held(kConfigMap), 0u) << "deleted";
  writes.note(kOwner, client::resources::kInferenceDeployment, object("m", "12"), cache);
  writes.see(client::resources::kInferenceDeployment, {.ref = kOwner, .before = nullptr, .after = object("m", "12")});
  EXPECT_EQ(held(client::resources::kInferenceDeployment), 0u);
}

TEST(OwnWrites, HoldsNothingWhoseEventWasQuickerThanTheAnswer) {
  FakeClock clock;
  OwnWrites writes(clock);
  runtime::StoreWriter store;
  (void)store.apply(*object("a", "9"));
  (void)store.apply(*object("b", "8"));
  writes.note(kOwner, kService, object("a", "9"), store.lister());
  writes.note(kOwner, kService, object("b", "9"), store.lister());
  const auto held = writes.unseen(kOwner, kService, 0);
  ASSERT_EQ(held.size(), 1u);
  EXPECT_EQ((*held[0])["metadata"]["name"], "b");
}

TEST(OwnWrites, ForgetsAnOwnerThatIsGone) {
  FakeClock clock;
  OwnWrites writes(clock);
  runtime::StoreWriter store;
  const runtime::Lister cache = store.lister();
  writes.note(kOwner, kService, object("a", "9"), cache);
  writes.forget(kOwner);
  EXPECT_TRUE(writes.unseen(kOwner, kService, 1).empty());
}

}  // namespace
}  // namespace inference::reconcilers
