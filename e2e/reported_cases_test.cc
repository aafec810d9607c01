// Faults that people reported of systems of this kind, as tests on the real API server.
#include <gtest/gtest.h>

#include <set>

#include "e2e/model.h"
#include "e2e/operator_suite.h"

namespace inference::e2e {
namespace {

using namespace client::resources;

/// defilantech/LLMKube#192, ai-runway/airunway#400: the default rolling update needs a GPU more than the cluster has,
/// and never ends.
class RolloutOnAFullCluster : public OwnNodesSuite {
 protected:
  RolloutOnAFullCluster() : OwnNodesSuite("case") {}
  [[nodiscard]] Json deployment() { return cluster_.get(kDeployment, ns(), "m"); }
  [[nodiscard]] Json one_gpu_each(std::int64_t replicas, std::int64_t max_model_len,
                                  const std::string& image = {}) const {
    Json spec = {{"parallelism", {{"tensor", 1}}},
                 {"replicas", replicas},
                 {"accelerator", {{"product", ns()}}},
                 {"serving", {{"maxModelLen", max_model_len}}}};
    if (!image.empty()) spec["engine"] = {{"image", image}};
    return model(ns(), "m", spec);
  }
  /// Pods that are not on their way out: none above the wanted number may ever exist, since there is no GPU for it.
  [[nodiscard]] std::size_t living_pods() {
    std::size_t count = 0;
    for (const Json& pod : cluster_.list(kPod, ns())) count += pod["metadata"].contains("deletionTimestamp") ? 0 : 1;
    return count;
  }
};

TEST_F(RolloutOnAFullCluster, EndsWithOneReplicaOnOneGpuAndTellsOfTheOutage) {
  cluster_.add_nodes(ns(), 0, 1, 1);
  cluster_.apply(one_gpu_each(1, 8192));
  ASSERT_TRUE(eventually([&] { return is_ready(); })) << object().dump(1);
  EXPECT_NE(object()["status"]["notices"].dump().find("OutageOnRollout"), std::string::npos);
  EXPECT_EQ(deployment()["spec"]["strategy"]["rollingUpdate"], (Json{{"maxSurge", 0}, {"maxUnavailable", 1}}));
  EXPECT_GE(deployment()["spec"]["progressDeadlineSeconds"], 600);

  cluster_.apply(one_gpu_each(1, 16384));
  std::size_t most = 0;
  EXPECT_TRUE(eventually([&] {
    most = std::max(most, living_pods());
    return is_ready() && deployment().dump().find("16384") != std::string::npos;
  })) << object().dump(1);
  EXPECT_LE(most, 1U);
}

TEST_F(RolloutOnAFullCluster, TakesOneReplicaAtATime) {
  cluster_.add_nodes(ns(), 0, 3, 1);
  cluster_.apply(one_gpu_each(3, 8192));
  ASSERT_TRUE(eventually([&] { return is_ready(); })) << object().dump(1);
  cluster_.apply(one_gpu_each(3, 16384));
  std::size_t most = 0;
  std::int64_t fewest = 3;
  EXPECT_TRUE(eventually([&] {
    most = std::max(most, living_pods());
    fewest = std::min(fewest, deployment()["status"].value("readyReplicas", std::int64_t{0}));
    return is_ready() && deployment()["status"].value("updatedReplicas", 0) == 3;
  })) << object().dump(1);
  EXPECT_LE(most, 3U);
  EXPECT_GE(fewest, 2);
}

TEST_F(RolloutOnAFullCluster, AnImageThatCanNotBePulledCostsOneReplicaAndIsNamed) {
  cluster_.add_nodes(ns(), 0, 3, 1);
  cluster_.apply(one_gpu_each(3, 8192));
  ASSERT_TRUE(eventually([&] { return is_ready(); })) << object().dump(1);
  // The local cluster's fake kubelet reports ErrImagePull for this image, as a real one would.
  cluster_.apply(one_gpu_each(3, 8192, "registry.invalid/missing:1"));
  EXPECT_TRUE(eventually([&] { return condition(object(), "Stalled") == "True/ImagePullFailed"; })) << object().dump(1);
  EXPECT_EQ(condition(object(), "Progressing"), "False/ImagePullFailed");
  EXPECT_NE(condition_message(object(), "Progressing").find("registry.invalid/missing:1"), std::string::npos)
      << condition_message(object(), "Progressing");
  EXPECT_EQ(deployment()["status"].value("readyReplicas", 0), 2);
  EXPECT_EQ(condition(object(), "Available"), "True/MinimumReplicasAvailable");
  // Old-broken pods must not be in the way of the repair.
  cluster_.apply(one_gpu_each(3, 8192));
  EXPECT_TRUE(eventually([&] { return is_ready(); })) << object().dump(1);
}

TEST_F(RolloutOnAFullCluster, NeitherSurgeNorUnavailableIsRefusedAtAdmission) {
  Json object = one_gpu_each(1, 8192);
  object["spec"]["rollout"] = {{"maxSurge", 0}, {"maxUnavailable", 0}};
  const Output refused = cluster_.kubectl({"apply", "--server-side", "-f", "-"}, object.dump());
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_NE(refused.text.find("maxSurge and maxUnavailable"), std::string::npos) << refused.text;
}

/// Altinity/clickhouse-operator#487, argoproj-labs/argocd-operator#414, NVIDIA/gpu-operator#2795: copied tracking
/// labels make Argo CD prune the children.
class TrackingLabels : public OperatorSuite {
 protected:
  TrackingLabels() : OperatorSuite("case") {}
  [[nodiscard]] Json tracked(std::int64_t nodes) const {
    Json object = model(ns(), "m", {{"nodes", nodes}, {"parallelism", {{"tensor", 2}}}, {"replicas", 2}});
    object["metadata"]["labels"] = {
        {"app.kubernetes.io/instance", "app-x"}, {"argocd.argoproj.io/instance", "app-x"}, {"team", "a"}};
    object["metadata"]["annotations"] = {
        {"argocd.argoproj.io/tracking-id", "app-x:inference-operator.dev/InferenceDeployment:" + ns() + "/m"},
        {"argocd.argoproj.io/sync-wave", "3"},
        {"helm.sh/hook", "post-install"},
        {"kustomize.toolkit.fluxcd.io/name", "apps"}};
    return object;
  }
  [[nodiscard]] std::vector<Json> children() {
    std::vector<Json> all;
    for (const auto& resource :
         {kDeployment, kLeaderWorkerSet, kService, kConfigMap, kPodDisruptionBudget, kPodGroup}) {
      for (Json& child : cluster_.list(resource, ns(), "app.kubernetes.io/managed-by=inference-operator"))
        all.push_back(std::move(child));
    }
    return all;
  }
  [[nodiscard]] std::map<std::string, std::string> versions() {
    std::map<std::string, std::string> all;
    for (const Json& child : children())
      all[child["kind"].get<std::string>() + "/" + child["metadata"]["name"].get<std::string>()] =
          child["metadata"].value("generation", Json()).dump() + child["metadata"]["uid"].dump() +
          child["metadata"].value("annotations", Json()).dump();
    return all;
  }
};

TEST_F(TrackingLabels, ReachNoChildAndNoPod) {
  for (const std::int64_t nodes : {1, 2}) {
    cluster_.must({"apply", "-f", "-"}, tracked(nodes).dump());  // client-side: leaves last-applied-configuration too
    ASSERT_TRUE(eventually([&] { return is_ready(); })) << object().dump(1);
    auto all = children();
    EXPECT_GE(all.size(), 4U);
    for (Json& pod : cluster_.list(kPod, ns())) all.push_back(std::move(pod));
    for (const Json& child : all) {
      // What a child says of its owner is its name and uid; everything else of it is searched for traces.
      const std::string text = child.dump();
      for (const char* trace : {"app-x", "argocd.argoproj.io", "tracking-id", "last-applied-configuration", "helm.sh",
                                "fluxcd", "\"team\""}) {
        EXPECT_EQ(text.find(trace), std::string::npos)
            << trace << " in " << child["kind"] << " " << child["metadata"]["name"];
      }
    }
  }
}

TEST_F(TrackingLabels, ASyncedObjectStaysAsItWasAppliedAndASecondSyncChangesNothing) {
  const Json applied = tracked(1);
  cluster_.must({"apply", "-f", "-"}, applied.dump());
  ASSERT_TRUE(eventually([&] { return is_ready(); })) << object().dump(1);
  EXPECT_EQ(object()["spec"], applied["spec"]);
  const Json generation = object()["metadata"]["generation"];
  cluster_.must({"apply", "-f", "-"}, applied.dump());
  cluster_.must({"apply", "--server-side", "--field-manager=argocd-controller", "--force-conflicts", "-f", "-"},
                applied.dump());
  EXPECT_EQ(cluster_.kubectl({"diff", "-f", "-"}, applied.dump()).exit_code, 0);
  EXPECT_EQ(object()["metadata"]["generation"], generation);
  EXPECT_EQ(object()["spec"], applied["spec"]);
}

TEST_F(TrackingLabels, TakenOffOrPutOnWhileItServesTheyWriteToNoChild) {
  cluster_.apply(model(ns(), "m", {{"replicas", 2}}));
  ASSERT_TRUE(eventually([&] { return is_ready(); })) << object().dump(1);
  const auto before = versions();
  cluster_.must({"annotate", "inferencedeployment", "m", "-n", ns(), "argocd.argoproj.io/tracking-id=app-x:x/y:z"});
  cluster_.must({"label", "inferencedeployment", "m", "-n", ns(), "app.kubernetes.io/instance=app-x", "team=b"});
  cluster_.must({"annotate", "inferencedeployment", "m", "-n", ns(), "argocd.argoproj.io/tracking-id-"});
  // A change that must be seen comes after those that must not: once it is through, they have been looked at.
  cluster_.apply(model(ns(), "m", {{"replicas", 1}}));
  ASSERT_TRUE(eventually([&] { return is_ready() && object()["status"]["replicas"] == 1; })) << object().dump(1);
  auto after = versions();
  for (const char* changed : {"Deployment/m", "PodDisruptionBudget/m"}) after.erase(changed);
  for (const auto& [child, version] : after) EXPECT_EQ(version, before.at(child));
}

}  // namespace
}  // namespace inference::e2e
