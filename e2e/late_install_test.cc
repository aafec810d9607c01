// Clusters that lack something: LeaderWorkerSet and native gang scheduling, of which the first is installed while the
// operator runs; or only the scheduler's half of native gang scheduling.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

#include "e2e/model.h"
#include "e2e/real_cluster.h"

namespace inference::e2e {
namespace {

using namespace client::resources;

/// A control plane of this test's own.
class LackingCluster {
 public:
  LackingCluster(const std::string& name, std::vector<std::string> flags)
      : state_(std::string(std::getenv("INFERENCE_TEST_STATE")) + "-" + name) {
    std::vector<std::string> command = {program_, "up", "--state", state_};
    command.insert(command.end(), flags.begin(), flags.end());
    const Output up = run(command);
    EXPECT_EQ(up.exit_code, 0) << up.text;
  }
  ~LackingCluster() { (void)run({program_, "down", "--state", state_}); }
  [[nodiscard]] std::string kubeconfig() const { return state_ + "/kubeconfig"; }
  void install_leader_worker_set() const {
    const Output installed = run({program_, "install-lws", "--state", state_});
    EXPECT_EQ(installed.exit_code, 0) << installed.text;
  }

 private:
  const std::string program_ = std::getenv("INFERENCE_TEST_CLUSTER");
  const std::string state_;
};

TEST(LateInstall, LeaderWorkerSetIsTakenUpWhenItAppearsAndAGroupWithoutAGangSaysSo) {
  ASSERT_NE(std::getenv("INFERENCE_TEST_CLUSTER"), nullptr) << "run these tests by ./dev test --only cluster";
  const LackingCluster bare("bare", {"--nodes", "2", "--without", "lws", "--feature-gates", "GenericWorkload=false"});
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

TEST(LackingScheduler, ThatPlacesAGangPodByPodIsNamed) {
  ASSERT_NE(std::getenv("INFERENCE_TEST_CLUSTER"), nullptr) << "run these tests by ./dev test --only cluster";
  const LackingCluster lacking("nogang", {"--nodes", "1", "--scheduler-feature-gates", "GenericWorkload=false"});
  RealCluster cluster(lacking.kubeconfig(), RealCluster::Install::kYes);
  OperatorProcess process(cluster);
  const auto object = [&](const std::string& name) { return cluster.get(kInferenceDeployment, "default", name); };
  // Two pods that take a whole node each: one of them is placed, which is what a gang is to prevent.
  cluster.apply(model("default", "m", {{"nodes", 2}, {"parallelism", {{"tensor", 8}}}}));
  EXPECT_TRUE(eventually([&] { return condition(object("m"), "Scheduled") == "False/SchedulerLacksGang"; }))
      << object("m").dump(1);
  EXPECT_EQ(object("m")["status"]["resolved"]["gang"], "Native");
  EXPECT_NE(condition_message(object("m"), "Scheduled").find("GenericWorkload=true"), std::string::npos)
      << condition_message(object("m"), "Scheduled");
  cluster.remove(kInferenceDeployment, "default", "m");
  // One that has room serves; that it was luck is said, too.
  cluster.apply(model("default", "small", {{"nodes", 2}, {"parallelism", {{"tensor", 2}}}}));
  EXPECT_TRUE(eventually([&] {
    return condition(object("small"), "Ready") == "True/AllReplicasReady" &&
           condition(object("small"), "Scheduled") == "True/SchedulerLacksGang";
  })) << object("small").dump(1);
  EXPECT_EQ(process.stop(SIGTERM), 0);
}

}  // namespace
}  // namespace inference::e2e
