// The gang mode Gates on the real kube-scheduler: our scheduling gates are lifted for whole groups only.
#include <gtest/gtest.h>

#include <csignal>
#include <map>
#include <set>

#include "e2e/model.h"
#include "e2e/real_cluster.h"

namespace inference::e2e {
namespace {

using namespace client::resources;

/// Nodes of a product that only this test asks for.
class GatesTest : public testing::Test {
 protected:
  void TearDown() override {
    if (HasFailure()) std::cerr << process_->log().substr(0, 20000);
    EXPECT_EQ(process_->stop(SIGTERM), 0);
    namespace_.remove();
    cluster_.remove_nodes(product());
  }
  void restart() { process_ = std::make_unique<OperatorProcess>(cluster_); }
  [[nodiscard]] std::string product() const { return namespace_.name(); }
  [[nodiscard]] std::string node(int number) const { return product() + "-" + std::to_string(number); }
  [[nodiscard]] Json group(const std::string& name, std::int64_t replicas, std::int64_t nodes = 2) const {
    return model(namespace_.name(), name,
                 {{"nodes", nodes},
                  {"replicas", replicas},
                  {"accelerator", {{"product", product()}}},
                  {"scheduling", {{"gang", "Gates"}}}});
  }
  [[nodiscard]] Json object(const std::string& name) {
    return cluster_.get(kInferenceDeployment, namespace_.name(), name);
  }
  [[nodiscard]] std::vector<Json> pods_of(const std::string& name) {
    return cluster_.list(kPod, namespace_.name(), "inference-operator.dev/name=" + name);
  }
  /// How many pods of each group have a node.
  [[nodiscard]] std::map<std::string, int> placed(const std::string& name) {
    std::map<std::string, int> groups;
    for (const Json& pod : pods_of(name)) {
      groups[pod["metadata"]["labels"].value("leaderworkerset.sigs.k8s.io/group-index", "none")] +=
          pod["spec"].contains("nodeName") ? 1 : 0;
    }
    return groups;
  }
  [[nodiscard]] std::size_t held(const std::string& name) {
    const auto pods = pods_of(name);
    return static_cast<std::size_t>(
        std::ranges::count_if(pods, [](const Json& pod) { return pod["spec"].contains("schedulingGates"); }));
  }
  [[nodiscard]] bool waits(const std::string& name) {
    return condition(object(name), "Scheduled") == "False/WaitingForGang";
  }
  [[nodiscard]] bool serves(const std::string& name) {
    return condition(object(name), "Ready") == "True/AllReplicasReady";
  }

  RealCluster& cluster_ = RealCluster::instance();
  Namespace namespace_{cluster_, "gates"};
  std::unique_ptr<OperatorProcess> process_ = std::make_unique<OperatorProcess>(cluster_);
};

using Placed = std::map<std::string, int>;

TEST_F(GatesTest, OneNodeShortNoPodHoldsAGpuAndTheMissingNodeBringsTheWholeGroup) {
  cluster_.add_nodes(product(), 0, 1);
  cluster_.apply(group("m", 1));
  ASSERT_TRUE(eventually([&] {
    return waits("m") && condition_message(object("m"), "Scheduled").find("8 GPUs are missing") != std::string::npos;
  })) << object("m").dump(1);
  EXPECT_EQ(placed("m"), (Placed{{"0", 0}}));
  EXPECT_EQ(held("m"), 2U);
  EXPECT_EQ(object("m")["status"]["resolved"]["gang"], "Gates");

  cluster_.add_nodes(product(), 1, 1);
  EXPECT_TRUE(eventually([&] { return serves("m"); })) << object("m").dump(1);
  EXPECT_EQ(placed("m"), (Placed{{"0", 2}}));
}

TEST_F(GatesTest, GroupsThatFitOneAtATimeNeverDeadlock) {
  cluster_.add_nodes(product(), 0, 3);
  cluster_.apply(group("a", 1));
  cluster_.apply(group("b", 1));
  const auto count = [&](const std::string& name) {
    const Placed groups = placed(name);
    return groups.contains("0") ? groups.at("0") : 0;
  };
  ASSERT_TRUE(eventually([&] { return (serves("a") && waits("b")) || (serves("b") && waits("a")); }))
      << object("a").dump(1) << object("b").dump(1);
  const std::string first = serves("a") ? "a" : "b";
  const std::string second = first == "a" ? "b" : "a";
  EXPECT_EQ(count(first), 2);
  EXPECT_EQ(count(second), 0) << "it holds a GPU while it can't be whole";
  cluster_.remove(kInferenceDeployment, namespace_.name(), first);
  EXPECT_TRUE(eventually([&] { return serves(second); })) << object(second).dump(1);
}

TEST_F(GatesTest, AGroupComesUpFromNoReplicas) {
  cluster_.add_nodes(product(), 0, 2);
  cluster_.apply(group("m", 0));
  ASSERT_TRUE(eventually([&] { return condition(object("m"), "Ready") == "True/Suspended"; })) << object("m").dump(1);
  cluster_.apply(group("m", 1));
  EXPECT_TRUE(eventually([&] { return serves("m"); })) << object("m").dump(1);
}

TEST_F(GatesTest, AReleaseThatWasCutShortByAKillIsCompleted) {
  constexpr int kSize = 8;
  cluster_.add_nodes(product(), 0, kSize);
  bool cut_short = false;
  // The kill may come after the last patch: then once more.
  for (int attempt = 0; attempt < 5 && !cut_short; ++attempt) {
    const std::string name = "m" + std::to_string(attempt);
    cluster_.apply(group(name, 1, kSize));
    ASSERT_TRUE(eventually(
        [&] {
          const auto pods = pods_of(name);
          return pods.size() == kSize &&
                 std::ranges::any_of(pods, [](const Json& pod) { return !pod["spec"].contains("schedulingGates"); });
        },
        std::chrono::seconds{240}, std::chrono::milliseconds{1}));
    process_->stop(SIGKILL);
    cut_short = held(name) > 0;
    restart();
    ASSERT_TRUE(eventually([&] { return serves(name); })) << object(name).dump(1);
    EXPECT_EQ(placed(name), (Placed{{"0", kSize}}));
    cluster_.remove(kInferenceDeployment, namespace_.name(), name);
    ASSERT_TRUE(eventually([&] { return pods_of(name).empty(); }));
  }
  EXPECT_TRUE(cut_short) << "five kills all came too late: nothing was shown";
}

TEST_F(GatesTest, AGroupThatAPodOfOthersSplitIsMadeAnewAndPlacedWhole) {
  cluster_.add_nodes(product(), 0, 2);
  // It takes no GPU but keeps the group's pods off its node, which only the scheduler sees: the same state as after a
  // race for the node, every time.
  cluster_.apply({{"apiVersion", "v1"},
                  {"kind", "Pod"},
                  {"metadata", {{"name", "rival"}, {"namespace", namespace_.name()}}},
                  {"spec",
                   {{"nodeName", node(1)},
                    {"containers", {{{"name", "c"}, {"image", "rival"}}}},
                    {"affinity",
                     {{"podAntiAffinity",
                       {{"requiredDuringSchedulingIgnoredDuringExecution",
                         {{{"topologyKey", "kubernetes.io/hostname"},
                           {"labelSelector", {{"matchLabels", {{"inference-operator.dev/name", "m"}}}}}}}}}}}}}}});
  cluster_.apply(group("m", 1));
  ASSERT_TRUE(eventually([&] { return placed("m") == Placed{{"0", 1}}; })) << object("m").dump(1);
  std::set<std::string> split;
  for (const Json& pod : pods_of("m")) split.insert(pod["metadata"]["uid"]);
  // Made anew it holds no GPU.
  ASSERT_TRUE(eventually([&] {
    const auto pods = pods_of("m");
    return pods.size() == 2 && held("m") == 2 &&
           std::ranges::none_of(pods, [&](const Json& pod) { return split.contains(pod["metadata"]["uid"]); });
  })) << object("m").dump(1);
  cluster_.remove(kPod, namespace_.name(), "rival");
  EXPECT_TRUE(eventually([&] { return serves("m"); })) << object("m").dump(1);
  EXPECT_EQ(placed("m"), (Placed{{"0", 2}}));
}

}  // namespace
}  // namespace inference::e2e
