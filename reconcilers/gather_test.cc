#include "reconcilers/gather.h"

#include <gtest/gtest.h>

namespace inference::reconcilers {
namespace {

Object object(const char* text) {
  return std::make_shared<const Json>(Json::parse(text));
}

Object profile(const std::string& name, bool by_default) {
  return std::make_shared<const Json>(Json{{"apiVersion", crd::kApiVersion},
                                           {"kind", crd::kInferenceProfileKind},
                                           {"metadata", {{"name", name}}},
                                           {"spec", {{"default", by_default}, {"defaults", Json::object()}}}});
}

TEST(ChooseProfile, TakesTheNamedOneElseTheOnlyDefaultElseNone) {
  runtime::StoreWriter profiles;
  EXPECT_FALSE(choose_profile(std::nullopt, profiles.lister())->has_value());
  (void)profiles.apply(profile("a", false));
  EXPECT_FALSE(choose_profile(std::nullopt, profiles.lister())->has_value());
  EXPECT_EQ((*choose_profile("a", profiles.lister()))->metadata.name, "a");
  (void)profiles.apply(profile("b", true));
  EXPECT_EQ((*choose_profile(std::nullopt, profiles.lister()))->metadata.name, "b");
}

TEST(ChooseProfile, RefusesAMissingOneSeveralDefaultsAndABrokenOne) {
  runtime::StoreWriter profiles;
  const auto missing = choose_profile("x", profiles.lister());
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().reason, "ProfileNotFound");
  (void)profiles.apply(profile("a", true));
  (void)profiles.apply(profile("b", true));
  const auto several = choose_profile(std::nullopt, profiles.lister());
  ASSERT_FALSE(several);
  EXPECT_EQ(several.error().reason, "ProfileAmbiguous");
  EXPECT_NE(several.error().errors[0].message.find("a, b"), std::string::npos);
  (void)profiles.apply(object(
      R"({"apiVersion": "inference-operator.dev/v1alpha1", "kind": "InferenceProfile", "metadata": {"name": "broken"}, "spec": {"defaults": {"nope": 1}}})"));
  const auto broken = choose_profile("broken", profiles.lister());
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().reason, "ProfileInvalid");
}

TEST(OwnerOfPod, IsReadFromOurLabelAlone) {
  EXPECT_TRUE(owner_of_pod(*object(R"({"metadata": {"name": "p", "namespace": "llm"}})")).empty());
  EXPECT_TRUE(owner_of_pod(*object(R"({"metadata": {"labels": {"inference-operator.dev/name": 1}}})")).empty());
  const auto owners = owner_of_pod(
      *object(R"({"metadata": {"name": "p", "namespace": "llm", "labels": {"inference-operator.dev/name": "m"}}})"));
  ASSERT_EQ(owners.size(), 1U);
  EXPECT_EQ(owners[0].to_string(), "llm/m");
}

TEST(Gather, LeavesOutWhatIsGoneOrGoing) {
  runtime::StoreWriter deployments, profiles, pods({index_pods()});
  const Caches caches{deployments.lister(), profiles.lister(), {}, pods.lister()};
  EXPECT_FALSE(gather(caches, {"llm", "m"}));
  (void)deployments.apply(object(
      R"({"metadata": {"name": "m", "namespace": "llm", "deletionTimestamp": "2026-11-30T12:00:00Z"}, "spec": {}})"));
  EXPECT_FALSE(gather(caches, {"llm", "m"}));
}

TEST(Gather, ReadsAnUndecodableObjectAsARefusalAndStillFindsItsChildren) {
  runtime::StoreWriter deployments, profiles, pods({index_pods()}), services({runtime::index_by_owner_uid()});
  (void)deployments.apply(object(R"({"apiVersion": "inference-operator.dev/v1alpha1", "kind": "InferenceDeployment",
    "metadata": {"name": "m", "namespace": "llm", "uid": "u-1"}, "spec": {"nodes": "two"}})"));
  (void)services.apply(object(
      R"({"kind": "Service", "metadata": {"name": "m-serve", "namespace": "llm", "ownerReferences": [{"uid": "u-1", "controller": true}]}})"));
  const auto observed = gather(
      {deployments.lister(), profiles.lister(), {{client::resources::kService, services.lister()}}, pods.lister()},
      {"llm", "m"});
  ASSERT_TRUE(observed);
  ASSERT_FALSE(observed->deployment);
  EXPECT_EQ(observed->deployment.error().reason, "InvalidSpec");
  EXPECT_EQ(observed->children.size(), 1U);
}

}  // namespace
}  // namespace inference::reconcilers
