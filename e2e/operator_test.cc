// The operator as users meet it: a real API server, scheduler, LeaderWorkerSet manager and garbage collector; the
// operator is a process with the rights of config/rbac. All assertions are about the state of the world.
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "e2e/model.h"
#include "e2e/operator_suite.h"

namespace inference::e2e {
namespace {

using namespace client::resources;

class Operator : public OperatorSuite {
 protected:
  Operator() : OperatorSuite("op") {}
  static void TearDownTestSuite() {
    // Whatever was done above was done with the rights of config/rbac: a missing one shows in the log.
    std::istringstream lines(process_->log());
    for (std::string line; std::getline(lines, line);) {
      const bool namespace_goes = line.find("because it is being terminated") != std::string::npos;
      EXPECT_TRUE(line.find("orbidden") == std::string::npos || namespace_goes) << line;
    }
    OperatorSuite::TearDownTestSuite();
  }
  void TearDown() override {
    ASSERT_TRUE(process_->running()) << process_->log();
    OperatorSuite::TearDown();
  }

  /// Everything that the spec asks for is written; whether it serves is not waited for (a new replica counts only after
  /// minReadySeconds).
  void expect_applied(const std::string& name) {
    EXPECT_TRUE(eventually([&] {
      const Json now = object(name);
      return condition(now, "Progressing").starts_with("True/") &&
             now["status"].value("observedGeneration", 0) == now["metadata"]["generation"];
    })) << object(name).dump(1);
  }
  void expect_ready(const std::string& name) {
    EXPECT_TRUE(eventually([&] {
      return condition(object(name), "Ready").starts_with("True/") &&
             object(name)["status"]["observedGeneration"] == object(name)["metadata"]["generation"];
    })) << object(name).dump(1);
  }
};

TEST_F(Operator, MakesASingleNodeModelReadyWithAllItsChildren) {
  cluster_.apply(model(ns(), "m", {{"replicas", 2}}));
  expect_ready("m");
  const Json ready = object("m");
  EXPECT_EQ(ready["status"]["readyReplicas"], 2);
  EXPECT_EQ(ready["status"]["workload"]["kind"], "Deployment");
  for (const auto& [resource, name] :
       {std::pair{kDeployment, "m"}, {kService, "m-serve"}, {kConfigMap, "m-drain"}, {kPodDisruptionBudget, "m"}}) {
    const Json child = cluster_.get(resource, ns(), name);
    ASSERT_FALSE(child.is_null()) << resource.kind;
    EXPECT_EQ(child["metadata"]["ownerReferences"][0]["uid"], ready["metadata"]["uid"]);
  }
  const auto pods = cluster_.list(kPod, ns());
  ASSERT_EQ(pods.size(), 2U);
  EXPECT_EQ(pods[0]["status"]["qosClass"], "Guaranteed");
  const Json scale = Json::parse(
      cluster_
          .must({"get", "--raw",
                 "/apis/inference-operator.dev/v1alpha1/namespaces/" + ns() + "/inferencedeployments/m/scale"})
          .text);
  EXPECT_EQ(scale["status"]["replicas"], 2);
  EXPECT_EQ(cluster_.list(kPod, ns(), scale["status"]["selector"]).size(), 2U);
}

TEST_F(Operator, ScalesThroughTheScaleSubresource) {
  cluster_.apply(model(ns(), "m"));
  expect_applied("m");
  cluster_.must({"scale", "inferencedeployment", "m", "-n", ns(), "--replicas=3"});
  EXPECT_TRUE(eventually([&] { return object("m")["status"].value("readyReplicas", 0) == 3; })) << object("m").dump(1);
}

TEST_F(Operator, BringsBackWhatIsDeletedOrEdited) {
  cluster_.apply(model(ns(), "m", {{"replicas", 2}}));
  expect_applied("m");
  const std::string before = cluster_.get(kService, ns(), "m-serve")["metadata"]["uid"];
  cluster_.remove(kService, ns(), "m-serve");
  EXPECT_TRUE(eventually([&] {
    const Json service = cluster_.get(kService, ns(), "m-serve");
    return !service.is_null() && service["metadata"]["uid"] != before;
  }));
  cluster_.must({"patch", "deployment", "m", "-n", ns(), "--type=merge", "-p",
                 R"({"spec": {"template": {"spec": {"enableServiceLinks": true}}}})"});
  EXPECT_TRUE(eventually(
      [&] { return cluster_.get(kDeployment, ns(), "m")["spec"]["template"]["spec"]["enableServiceLinks"] == false; }));
  cluster_.must(
      {"patch", "configmap", "m-drain", "-n", ns(), "--type=merge", "-p", R"({"data": {"drain.sh": "exit 0"}})"});
  EXPECT_TRUE(eventually([&] { return cluster_.get(kConfigMap, ns(), "m-drain")["data"]["drain.sh"] != "exit 0"; }));
  cluster_.must({"label", "pdb", "m", "-n", ns(), "app.kubernetes.io/managed-by-"});
  EXPECT_TRUE(eventually([&] {
    return cluster_.get(kPodDisruptionBudget, ns(), "m")["metadata"]["labels"].contains("app.kubernetes.io/managed-by");
  }));
}

TEST_F(Operator, LeavesAloneWhatOthersAddToItsChildren) {
  cluster_.apply(model(ns(), "m"));
  expect_applied("m");
  cluster_.must({"annotate", "service", "m-serve", "-n", ns(), "example.com/owner=someone"});
  cluster_.apply(model(ns(), "m", {{"replicas", 2}}));
  expect_applied("m");
  EXPECT_EQ(cluster_.get(kService, ns(), "m-serve")["metadata"]["annotations"]["example.com/owner"], "someone");
}

TEST_F(Operator, ReplacesTheDeploymentByAGroupAndBack) {
  cluster_.apply(model(ns(), "m", {{"parallelism", {{"tensor", 2}}}}));
  expect_ready("m");
  cluster_.apply(model(ns(), "m", {{"parallelism", {{"tensor", 2}}}, {"nodes", 2}}));
  EXPECT_TRUE(eventually([&] {
    return cluster_.get(kDeployment, ns(), "m").is_null() && !cluster_.get(kLeaderWorkerSet, ns(), "m").is_null();
  }));
  expect_ready("m");
  EXPECT_EQ(object("m")["status"]["workload"]["kind"], "LeaderWorkerSet");
  cluster_.apply(model(ns(), "m", {{"parallelism", {{"tensor", 2}}}, {"nodes", 1}}));
  EXPECT_TRUE(eventually(
      [&] { return cluster_.get(kLeaderWorkerSet, ns(), "m").is_null() && cluster_.list(kPodGroup, ns()).empty(); }));
  expect_ready("m");
}

TEST_F(Operator, LeavesNothingBehindWhenAModelIsDeleted) {
  cluster_.apply(model(ns(), "m", {{"nodes", 2}, {"parallelism", {{"tensor", 2}}}, {"replicas", 2}}));
  expect_ready("m");
  cluster_.remove(kInferenceDeployment, ns(), "m");
  for (const auto& resource : {kDeployment, kLeaderWorkerSet, kService, kPodDisruptionBudget, kPodGroup, kPod}) {
    EXPECT_TRUE(eventually([&] { return cluster_.list(resource, ns()).empty(); })) << resource.kind;
  }
}

TEST_F(Operator, NeverOverwritesAnObjectThatIsNotItsOwn) {
  const Json foreign = {{"apiVersion", "v1"},
                        {"kind", "ConfigMap"},
                        {"metadata", {{"name", "m-drain"}, {"namespace", ns()}}},
                        {"data", {{"mine", "yes"}}}};
  cluster_.apply(foreign);
  cluster_.apply(model(ns(), "m"));
  EXPECT_TRUE(eventually([&] { return condition(object("m"), "Stalled") == "True/Conflict"; })) << object("m").dump(1);
  EXPECT_EQ(condition(object("m"), "Ready"), "False/Conflict");
  EXPECT_NE(condition_message(object("m"), "Ready").find("ConfigMap " + ns() + "/m-drain"), std::string::npos)
      << condition_message(object("m"), "Ready");
  const Json kept = cluster_.get(kConfigMap, ns(), "m-drain");
  EXPECT_EQ(kept["data"], foreign["data"]);
  EXPECT_FALSE(kept["metadata"].contains("ownerReferences"));
}

TEST_F(Operator, ARefusedSpecSaysWhyAndTouchesNothingThatRuns) {
  cluster_.apply(model(ns(), "m"));
  expect_ready("m");
  const Json before = cluster_.get(kDeployment, ns(), "m");
  cluster_.apply(model(ns(), "m", {{"model", {{"uri", "hf://org/model"}}}}));
  EXPECT_TRUE(eventually([&] { return condition(object("m"), "Resolved") == "False/NotSupported"; }))
      << object("m").dump(1);
  EXPECT_NE(condition_message(object("m"), "Resolved").find("spec.model.uri"), std::string::npos);
  EXPECT_EQ(cluster_.get(kDeployment, ns(), "m")["metadata"]["resourceVersion"], before["metadata"]["resourceVersion"]);
  cluster_.apply(model(ns(), "m"));
  expect_ready("m");
}

TEST_F(Operator, WaitsForAProfileThatIsNotThereYet) {
  const std::string profile = ns() + "-profile";
  cluster_.apply(model(ns(), "m", {{"profileRef", {{"name", profile}}}}));
  EXPECT_TRUE(eventually([&] { return condition(object("m"), "Resolved") == "False/ProfileNotFound"; }))
      << object("m").dump(1);
  cluster_.apply({{"apiVersion", "inference-operator.dev/v1alpha1"},
                  {"kind", "InferenceProfile"},
                  {"metadata", {{"name", profile}}},
                  {"spec", {{"defaults", {{"drain", {{"timeoutSeconds", 1234}}}}}}}});
  expect_applied("m");
  EXPECT_GT(cluster_.get(kDeployment, ns(), "m")["spec"]["template"]["spec"]["terminationGracePeriodSeconds"], 1234);
  cluster_.remove(kInferenceProfile, "", profile);
}

TEST_F(Operator, TellsInEventsWhatHappened) {
  cluster_.apply(model(ns(), "m"));
  expect_ready("m");
  EXPECT_TRUE(eventually([&] {
    std::set<std::string> reasons;
    for (const Json& event : cluster_.list(kEvent, ns())) {
      if (event.value("reportingController", "").starts_with("inference-operator"))
        reasons.insert(event.value("reason", ""));
    }
    return reasons.contains("AllReplicasReady");
  }));
}

TEST_F(Operator, SuspendsAndResumes) {
  cluster_.apply(model(ns(), "m"));
  expect_ready("m");
  cluster_.apply(model(ns(), "m", {{"suspend", true}}));
  EXPECT_TRUE(eventually([&] {
    return cluster_.list(kPod, ns()).empty() && condition(object("m"), "Ready") == "True/Suspended";
  })) << object("m").dump(1);
  cluster_.apply(model(ns(), "m", {{"suspend", false}}));
  EXPECT_TRUE(eventually([&] { return condition(object("m"), "Ready") == "True/AllReplicasReady"; }));
}

}  // namespace
}  // namespace inference::e2e
