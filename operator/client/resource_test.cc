#include "operator/client/resource.h"

#include <gtest/gtest.h>

#include <unordered_set>

namespace inference::client {
namespace {

using namespace resources;

TEST(ResourcePath, NamesObjectsAndCollections) {
  EXPECT_EQ(resource_path(kDeployment, {"ns", "web"}), "/apis/apps/v1/namespaces/ns/deployments/web");
  EXPECT_EQ(resource_path(kDeployment, {"ns", "web"}, "status"), "/apis/apps/v1/namespaces/ns/deployments/web/status");
  EXPECT_EQ(resource_path(kDeployment, {"ns", ""}), "/apis/apps/v1/namespaces/ns/deployments");
  EXPECT_EQ(resource_path(kPod, {"", ""}), "/api/v1/pods");
  EXPECT_EQ(resource_path(kNode, {"", "gpu-1"}), "/api/v1/nodes/gpu-1");
  EXPECT_EQ(resource_path(kPodGroup, {"ns", "g"}), "/apis/scheduling.k8s.io/v1beta1/namespaces/ns/podgroups/g");
}

TEST(ResourcePath, EncodesNames) {
  EXPECT_EQ(resource_path(kCustomResourceDefinition, {"", "a b?c#d\xC3\xA9:e"}),
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/a%20b%3Fc%23d%C3%A9%3Ae");
}

TEST(ResourcePath, RefusesWhatWouldNameAnotherUrl) {
  for (const char* name : {".", "..", "../x", "a/b", "a%2fb", "/"}) {
    EXPECT_FALSE(resource_path(kDeployment, {"ns", name})) << name;
    EXPECT_FALSE(resource_path(kDeployment, {name, "web"})) << name;
  }
  EXPECT_FALSE(resource_path(kDeployment, {"", "web"})) << "no namespace";
  EXPECT_FALSE(resource_path(kNode, {"ns", "gpu-1"})) << "cluster-scoped";
  EXPECT_FALSE(resource_path(kDeployment, {"ns", ""}, "status")) << "status of a collection";
}

TEST(Resource, IsFoundByVersionAndKind) {
  EXPECT_EQ(find_resource("apps/v1", "Deployment"), &kDeployment);
  EXPECT_EQ(find_resource("v1", "Service"), &kService);
  EXPECT_EQ(find_resource("scheduling.k8s.io/v1beta1", "PodGroup"), &kPodGroup);
  EXPECT_EQ(find_resource("scheduling.volcano.sh/v1beta1", "PodGroup"), &kVolcanoPodGroup);
  EXPECT_EQ(find_resource("apps/v1beta1", "Deployment"), nullptr);
  EXPECT_EQ(kDeployment.full_name(), "deployments.apps");
  EXPECT_EQ(kPod.full_name(), "pods");
  EXPECT_EQ(kPod.api_version(), "v1");
}

TEST(ObjectRef, IsAKey) {
  const std::unordered_set<ObjectRef> refs = {{"a", "b"}, {"b", "a"}, {"", "ab"}, {"a", "b"}};
  EXPECT_EQ(refs.size(), 3U);
  EXPECT_LT((ObjectRef{"a", "z"}), (ObjectRef{"b", "a"}));
  EXPECT_EQ((ObjectRef{"ns", "name"}.to_string()), "ns/name");
  EXPECT_EQ((ObjectRef{"", "name"}.to_string()), "name");
}

}  // namespace
}  // namespace inference::client
