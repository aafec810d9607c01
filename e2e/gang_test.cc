// Groups are placed whole or not at all, by the real kube-scheduler.
#include <gtest/gtest.h>

#include <map>

#include "e2e/model.h"
#include "e2e/operator_suite.h"

namespace inference::e2e {
namespace {

using namespace client::resources;

class GangTest : public OwnNodesSuite {
 protected:
  GangTest() : OwnNodesSuite("gang") {}
  [[nodiscard]] std::string product() const { return ns(); }
  [[nodiscard]] Json group(std::int64_t replicas) const {
    return model(ns(), "m",
                 {{"nodes", 2},
                  {"replicas", replicas},
                  {"accelerator", {{"product", product()}}},
                  {"scheduling", {{"gang", "Native"}}}});
  }
  /// How many pods of each group have a node.
  [[nodiscard]] std::map<std::string, int> placed() {
    std::map<std::string, int> groups;
    for (const Json& pod : cluster_.list(kPod, ns())) {
      groups[pod["spec"]["schedulingGroup"].value("podGroupName", "none")] += pod["spec"].contains("nodeName") ? 1 : 0;
    }
    return groups;
  }
};

TEST_F(GangTest, OneNodeShortNoPodOfTheGroupIsPlacedAndTheMissingNodeBringsItWhole) {
  cluster_.add_nodes(product(), 0, 1);
  cluster_.apply(group(1));
  // The scheduler has judged the whole group: that, and not an early look, is when nothing may be placed.
  ASSERT_TRUE(eventually([&] {
    const auto groups = cluster_.list(kPodGroup, ns());
    return groups.size() == 1 && groups[0].value("/status/conditions/0/status"_json_pointer, "") == "False";
  })) << object().dump(1);
  EXPECT_EQ(placed(), (std::map<std::string, int>{{"m-0", 0}}));
  EXPECT_TRUE(eventually([&] { return condition(object(), "Scheduled").starts_with("False/"); })) << object().dump(1);
  EXPECT_EQ(object()["status"]["resolved"]["gang"], "Native");

  cluster_.add_nodes(product(), 1, 1);
  EXPECT_TRUE(eventually([&] { return condition(object(), "Ready") == "True/AllReplicasReady"; })) << object().dump(1);
  EXPECT_EQ(placed(), (std::map<std::string, int>{{"m-0", 2}}));
}

TEST_F(GangTest, OfTwoGroupsOnThreeNodesOneIsPlacedWholeAndTheOtherNotAtAll) {
  cluster_.add_nodes(product(), 0, 3);
  cluster_.apply(group(2));
  const auto one_whole = [&] {
    const auto groups = placed();
    return groups.size() == 2 &&
           ((groups.at("m-0") == 2 && groups.at("m-1") == 0) || (groups.at("m-0") == 0 && groups.at("m-1") == 2));
  };
  ASSERT_TRUE(eventually(one_whole));
  ASSERT_TRUE(eventually([&] {
    std::size_t judged = 0;
    for (const Json& found : cluster_.list(kPodGroup, ns()))
      judged += found.contains("/status/conditions/0"_json_pointer) ? 1 : 0;
    return judged == 2;
  }));
  EXPECT_TRUE(one_whole());
  cluster_.add_nodes(product(), 3, 1);
  EXPECT_TRUE(eventually([&] { return condition(object(), "Ready") == "True/AllReplicasReady"; })) << object().dump(1);
}

}  // namespace
}  // namespace inference::e2e
