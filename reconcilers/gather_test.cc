#include "reconcilers/gather.h"

#include <gtest/gtest.h>

#include "base/fake_clock.h"

namespace inference::reconcilers {
namespace {

Json object(const char* text) {
  return Json::parse(text);
}

Json profile(const std::string& name, bool by_default) {
  return Json{{"apiVersion", crd::kApiVersion},
              {"kind", crd::kInferenceProfileKind},
              {"metadata", {{"name", name}}},
              {"spec", {{"default", by_default}, {"defaults", Json::object()}}}};
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
  EXPECT_TRUE(owner_of_pod(object(R"({"metadata": {"name": "p", "namespace": "llm"}})")).empty());
  EXPECT_TRUE(owner_of_pod(object(R"({"metadata": {"labels": {"inference-operator.dev/name": 1}}})")).empty());
  const auto owners = owner_of_pod(
      object(R"({"metadata": {"name": "p", "namespace": "llm", "labels": {"inference-operator.dev/name": "m"}}})"));
  ASSERT_EQ(owners.size(), 1U);
  EXPECT_EQ(owners[0].to_string(), "llm/m");
}

TEST(Gather, LeavesOutWhatIsGoneOrGoing) {
  runtime::StoreWriter deployments, profiles, pods({index_pods()});
  const Caches caches{deployments.lister(), profiles.lister(), {}, pods.lister()};
  FakeClock clock;
  OwnWrites own(clock);
  EXPECT_FALSE(gather(caches, own, {"llm", "m"}));
  (void)deployments.apply(object(
      R"({"metadata": {"name": "m", "namespace": "llm", "deletionTimestamp": "2026-11-30T12:00:00Z"}, "spec": {}})"));
  EXPECT_FALSE(gather(caches, own, {"llm", "m"}));
}

TEST(Gather, ReadsAnUndecodableObjectAsARefusalAndStillFindsItsChildren) {
  runtime::StoreWriter deployments, profiles, pods({index_pods()}), services({runtime::index_by_owner_uid()});
  (void)deployments.apply(object(R"({"apiVersion": "inference-operator.dev/v1alpha1", "kind": "InferenceDeployment",
    "metadata": {"name": "m", "namespace": "llm", "uid": "u-1"}, "spec": {"nodes": "two"}})"));
  (void)services.apply(object(
      R"({"kind": "Service", "metadata": {"name": "m-serve", "namespace": "llm", "ownerReferences": [{"uid": "u-1", "controller": true}]}})"));
  FakeClock clock;
  OwnWrites own(clock);
  const auto observed = gather(
      {deployments.lister(), profiles.lister(), {{client::resources::kService, services.lister()}}, pods.lister()}, own,
      {"llm", "m"});
  ASSERT_TRUE(observed);
  ASSERT_FALSE(observed->deployment);
  EXPECT_EQ(observed->deployment.error().reason, "InvalidSpec");
  EXPECT_EQ(observed->children.size(), 1U);
}

Json child(const std::string& name, const std::string& version) {
  return {{"kind", "Service"},
          {"metadata",
           {{"name", name},
            {"namespace", "llm"},
            {"resourceVersion", version},
            {"ownerReferences", {{{"uid", "u-1"}, {"controller", true}}}}}}};
}

TEST(Gather, SeesWhatWeHaveWrittenBeforeTheCachesDo) {
  runtime::StoreWriter deployments, profiles, pods({index_pods()}), services({runtime::index_by_owner_uid()});
  Json model = object(R"({"apiVersion": "inference-operator.dev/v1alpha1", "kind": "InferenceDeployment",
    "metadata": {"name": "m", "namespace": "llm", "uid": "u-1", "resourceVersion": "5"}, "spec": {}})");
  (void)deployments.apply(model);
  deployments.advance("5");
  (void)services.apply(child("cached-anew", "9"));
  (void)services.apply(child("cached-before", "3"));
  services.advance("4");
  const Caches caches{
      deployments.lister(), profiles.lister(), {{client::resources::kService, services.lister()}}, pods.lister()};
  FakeClock clock;
  OwnWrites own(clock);
  const auto wrote = [&](const client::Resource& resource, Json written) {
    const bool is_child = resource == client::resources::kService;
    own.note({"llm", "m"}, resource, std::make_shared<const Json>(std::move(written)),
             is_child ? services.lister() : deployments.lister());
  };
  model["metadata"]["resourceVersion"] = "8";
  model["status"]["replicas"] = 1;
  wrote(client::resources::kInferenceDeployment, model);
  wrote(client::resources::kService, child("cached-anew", "7"));
  wrote(client::resources::kService, child("cached-before", "6"));
  wrote(client::resources::kService, child("not-cached", "7"));

  const auto observed = gather(caches, own, {"llm", "m"});
  ASSERT_TRUE(observed);
  ASSERT_NE(observed->status(), nullptr);
  std::map<std::string, std::string> versions;
  for (const auto& found : observed->children)
    versions[(*found.object)["metadata"]["name"]] = (*found.object)["metadata"]["resourceVersion"];
  EXPECT_EQ(versions,
            (std::map<std::string, std::string>{{"cached-anew", "9"}, {"cached-before", "6"}, {"not-cached", "7"}}));

  model["metadata"]["uid"] = "u-2";  // deleted and made anew
  model.erase("status");
  (void)deployments.apply(model);
  EXPECT_EQ(gather(caches, own, {"llm", "m"})->status(), nullptr);
}

}  // namespace
}  // namespace inference::reconcilers
