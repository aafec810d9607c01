#include "reconcilers/children.h"

#include <gtest/gtest.h>

namespace inference::reconcilers {
namespace {

Json owner() {
  return {
      {"metadata",
       {{"name", "m"}, {"namespace", "llm"}, {"uid", "u-1"}, {"labels", {{"argocd.argoproj.io/instance", "app"}}}}}};
}

struct Comparison {
  const char* says;
  const char* live;
  const char* desired;
  std::optional<std::string> difference;
};

TEST(FirstDifference, KnowsWhatTheApiServerChangesByItselfFromWhatSomeoneElseChanged) {
  const Comparison cases[] = {
      {"equal", R"({"a": 1})", R"({"a": 1})", {}},
      {"defaults of the server are not ours", R"({"a": 1, "b": 2})", R"({"a": 1})", {}},
      {"a value that was edited", R"({"spec": {"replicas": 3}})", R"({"spec": {"replicas": 6}})", "spec.replicas"},
      {"a field that was removed", R"({"spec": {}})", R"({"spec": {"replicas": 6}})", "spec.replicas"},
      {"quantities by value", R"({"limits": {"memory": "1Gi"}})", R"({"limits": {"memory": "1024Mi"}})", {}},
      {"quantities that differ", R"({"limits": {"cpu": "1"}})", R"({"limits": {"cpu": "1500m"}})", "limits.cpu"},
      {"number and text of a quantity",
       R"({"requests": {"nvidia.com/gpu": "8"}})",
       R"({"requests": {"nvidia.com/gpu": 8}})",
       {}},
      {"a text is no quantity elsewhere", R"({"data": {"a": "1Gi"}})", R"({"data": {"a": "1024Mi"}})", "data.a"},
      {"empty values that the server drops",
       R"({})",
       R"({"a": "", "b": [], "c": {"d": null}, "e": false, "f": 0})",
       {}},
      {"containers in another order, with one of a webhook's",
       R"({"containers": [{"name": "x"}, {"name": "b", "image": "2"}, {"name": "a", "image": "1"}]})",
       R"({"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "2"}]})",
       {}},
      {"a container that is gone", R"({"containers": [{"name": "x"}]})", R"({"containers": [{"name": "a"}]})",
       "containers[0]"},
      {"an environment variable that was edited", R"({"env": [{"name": "A", "value": "2"}]})",
       R"({"env": [{"name": "A", "value": "1"}]})", "env[0].value"},
      {"mounts by path, since one volume may be mounted twice",
       R"({"volumeMounts": [{"name": "m", "mountPath": "/b"}, {"name": "m", "mountPath": "/a"}]})",
       R"({"volumeMounts": [{"name": "m", "mountPath": "/a"}]})",
       {}},
      {"conditions by type, whatever order the server keeps",
       R"({"conditions": [{"type": "B"}, {"type": "A"}]})",
       R"({"conditions": [{"type": "A"}, {"type": "B"}]})",
       {}},
      {"arguments are one value", R"({"args": ["a", "b", "c"]})", R"({"args": ["a", "b"]})", "args"},
      {"arguments in another order", R"({"args": ["b", "a"]})", R"({"args": ["a", "b"]})", "args[0]"},
  };
  for (const auto& test : cases)
    EXPECT_EQ(first_difference(Json::parse(test.live), Json::parse(test.desired)), test.difference) << test.says;
}

TEST(AsChild, IsControlledByItsOwnerAndCarriesNothingElseOfIt) {
  const Json child =
      as_child({{"kind", "Service"}, {"metadata", {{"name", "m-serve"}, {"namespace", "llm"}}}}, owner());
  EXPECT_TRUE(is_controlled_by(child, "u-1"));
  EXPECT_FALSE(is_controlled_by(child, "u-2"));
  EXPECT_EQ(child.dump().find("argocd"), std::string::npos);
  EXPECT_EQ(describe(child), "Service llm/m-serve");
}

TEST(AsChild, HashesEqualObjectsAlikeAndOthersNot) {
  const auto hash = [](int replicas) {
    return as_child({{"metadata", {{"name", "m"}}}, {"spec", {{"replicas", replicas}}}},
                    owner())["metadata"]["annotations"][kAppliedHashAnnotation]
        .get<std::string>();
  };
  EXPECT_EQ(hash(1), hash(1));
  EXPECT_NE(hash(1), hash(2));
  EXPECT_EQ(hash(1).size(), 64U);
}

TEST(FirstDifference, TakesASelectorAsOneValue) {
  const Json desired = {{"spec", {{"selector", {{"a", "1"}}}}}};
  Json live = desired;
  EXPECT_EQ(first_difference(live, desired), std::nullopt);
  live["spec"]["selector"]["evil"] = "1";
  EXPECT_EQ(first_difference(live, desired), "spec.selector");
}

}  // namespace
}  // namespace inference::reconcilers
