// Clusters that lack something: LeaderWorkerSet and native gang scheduling, of which the first is installed while the
// operator runs; or only the scheduler's half of native gang scheduling.
#include <gtest/gtest.h>

#include <csignal>

#include "e2e/model.h"
#include "e2e/own_cluster.h"
#include "e2e/real_cluster.h"

namespace inference::e2e {
namespace {

using namespace client::resources;

TEST(LateInstall, LeaderWorkerSetIsTakenUpWhenItAppearsAndAGroupWithoutAGangSaysSo) {
  const OwnCluster bare("bare", {"--nodes", "2", "--without", "lws", "--feature-gates", "GenericWorkload=false"});
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

  bare.command({"install-lws"});
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
  const OwnCluster lacking("nogang", {"--nodes", "1", "--scheduler-feature-gates", "GenericWorkload=false"});
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
