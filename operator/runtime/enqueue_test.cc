#include "operator/runtime/enqueue.h"

#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "operator/runtime/object_meta.h"

namespace inference::runtime {
namespace {

using Names = std::vector<std::string>;

Object owned_by(const std::string& owner, const std::string& api_version = "inference-operator.dev/v1alpha1") {
  return std::make_shared<const Json>(Json{
      {"metadata",
       {{"namespace", "ns"},
        {"name", "child"},
        {"ownerReferences",
         {{{"apiVersion", "v1"}, {"kind", "InferenceDeployment"}, {"name", "other"}, {"controller", false}},
          {{"apiVersion", api_version}, {"kind", "InferenceDeployment"}, {"name", owner}, {"controller", true}}}}}}});
}

Change change(Object before, Object after) {
  return {.ref = {.ns = "ns", .name = "child"}, .before = std::move(before), .after = std::move(after)};
}

class EnqueueTest : public testing::Test {
 protected:
  FakeClock clock_;
  Metrics metrics_;
  WorkQueue queue_{clock_, metrics_.queue("test")};

  Names drain() {
    Names names;
    while (queue_.length() > 0) {
      const auto key = queue_.get({});
      names.push_back(key->to_string());
      queue_.done(*key);
    }
    return names;
  }
};

TEST_F(EnqueueTest, EnqueuesTheObjectUnlessThePredicateRefuses) {
  const ChangeHandler handler = enqueue_object(queue_, [](const Change& c) { return c.after != nullptr; });
  handler(change(owned_by("a"), nullptr));
  EXPECT_EQ(drain(), Names{});
  handler(change(nullptr, owned_by("a")));
  EXPECT_EQ(drain(), Names{"ns/child"});
}

TEST_F(EnqueueTest, EnqueuesTheOwnersBeforeAndAfterAChange) {
  const ChangeHandler handler = enqueue_owner(queue_, "inference-operator.dev", "InferenceDeployment");
  handler(change(owned_by("a"), owned_by("b")));
  EXPECT_EQ(drain(), (Names{"ns/a", "ns/b"}));
  handler(change(owned_by("a"), nullptr));
  EXPECT_EQ(drain(), Names{"ns/a"});
  handler(change(nullptr, owned_by("a", "inference-operator.dev/v9")));
  EXPECT_EQ(drain(), Names{"ns/a"}) << "the version does not matter";
  handler(change(nullptr, owned_by("a", "someone-else.dev/v1alpha1")));
  EXPECT_EQ(drain(), Names{});
  handler(change(nullptr, std::make_shared<const Json>(Json::object())));
  EXPECT_EQ(drain(), Names{});
}

TEST_F(EnqueueTest, EnqueuesWhateverAnObjectMapsTo) {
  const ChangeHandler handler = enqueue_mapped(queue_, [](const Json& object) {
    return std::vector<client::ObjectRef>{{.ns = "x", .name = ref_of(object).name}, {.ns = "y", .name = "all"}};
  });
  handler(change(nullptr, owned_by("a")));
  EXPECT_EQ(drain(), (Names{"x/child", "y/all"}));
}

TEST(SpecOrMetadataChanged, IgnoresStatusOnly) {
  const auto object = [](int generation, const char* label, int ready) {
    return std::make_shared<const Json>(
        Json{{"metadata", {{"generation", generation}, {"labels", {{"l", label}}}}}, {"status", {{"ready", ready}}}});
  };
  EXPECT_FALSE(spec_or_metadata_changed(change(object(1, "a", 1), object(1, "a", 2))));
  EXPECT_TRUE(spec_or_metadata_changed(change(object(1, "a", 1), object(2, "a", 1))));
  EXPECT_TRUE(spec_or_metadata_changed(change(object(1, "a", 1), object(1, "b", 1))));
  EXPECT_TRUE(spec_or_metadata_changed(change(nullptr, object(1, "a", 1))));
  EXPECT_TRUE(spec_or_metadata_changed(change(object(1, "a", 1), nullptr)));
}

}  // namespace
}  // namespace inference::runtime
