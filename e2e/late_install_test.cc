// A cluster without LeaderWorkerSet and without native gang scheduling, in which LeaderWorkerSet is installed while the
// operator runs.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

#include "e2e/model.h"
#include "e2e/real_cluster.h"

namespace inference::e2e {
namespace {

using namespace client::resources;

/// A control plane of this test's own.
class BareCluster {
 public:
  BareCluster() {
    const Output up = run({program_, "up", "--state", state_, "--nodes", "2", "--without", "lws", "--feature-gates",
                           "GenericWorkload=false"});
    EXPECT_EQ(up.exit_code, 0) << up.text;
  }
  ~BareCluster() { (void)run({program_, "down", "--state", state_}); }
  [[nodiscard]] std::string kubeconfig() const { return state_ + "/kubeconfig"; }
  void install_leader_worker_set() const {
    const Output installed = run({program_, "install-lws", "--state", state_});
    EXPECT_EQ(installed.exit_code, 0) << installed.text;
  }

 private:
  const std::string program_ = std::getenv("INFERENCE_TEST_CLUSTER");
  const std::string state_ = std::string(std::getenv("INFERENCE_TEST_STATE")) + "-bare";
};

TEST(LateInstall, LeaderWorkerSetIsTakenUpWhenItAppearsAndAGroupWithoutAGangSaysSo) {
  ASSERT_NE(std::getenv("INFERENCE_TEST_CLUSTER"), nullptr) << "run these tests by ./dev test --only cluster";
  const BareCluster bare;
  RealCluster cluster(bare.kubeconfig(), RealCluster::Install::kYes);
  OperatorProcess process(cluster);
  const auto object = [&] { return cluster.get(kInferenceDeployment, "default", "m"); };
  cluster.apply(model("default", "single"));
  cluster.apply(model("default", "m", {{"nodes", 2}, {"parallelism", {{"tensor", 4}}}}));
  EXPECT_TRUE(eventually([&] { return condition(object(), "Resolved") == "False/ClusterLacksLeaderWorkerSet"; }))
      << object().dump(1) << process.log();
  // What the cluster lacks for one model keeps no other from serving.
  EXPECT_TRUE(eventually([&] {
    return condition(cluster.get(kInferenceDeployment, "default", "single"), "Ready") == "True/AllReplicasReady";
  }));

  bare.install_leader_worker_set();
  EXPECT_TRUE(eventually([&] { return condition(object(), "Ready") == "True/AllReplicasReady"; }))
      << object().dump(1) << process.log();
  EXPECT_EQ(object()["status"]["resolved"]["gang"], "Gates");
  EXPECT_NE(condition_message(object(), "Resolved").find("BestEffortGang"), std::string::npos)
      << condition_message(object(), "Resolved");
  // The watch began when the kind appeared: a change of the new kind is noticed.
  cluster.must({"scale", "leaderworkerset", "m", "--replicas=0"});
  EXPECT_TRUE(eventually([&] { return cluster.get(kLeaderWorkerSet, "default", "m")["spec"]["replicas"] == 1; }))
      << process.log();
  EXPECT_EQ(process.stop(SIGTERM), 0);
}

}  // namespace
}  // namespace inference::e2e
