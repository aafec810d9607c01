// Shares and slices of GPUs on the real scheduler: a model takes the nodes that are set up as it says, and no whole
// GPU.
#include <gtest/gtest.h>

#include <set>

#include "e2e/model.h"
#include "e2e/operator_suite.h"

namespace inference::e2e {
namespace {

using namespace client::resources;

class GpuSharing : public OwnNodesSuite {
 protected:
  GpuSharing() : OwnNodesSuite("sharing") {}
  void TearDown() override {
    OwnNodesSuite::TearDown();
    for (const char* suffix : {"-SHARED", "-cut"}) cluster_.remove_nodes(ns() + suffix);
  }
  void deploy(Json accelerator) {
    accelerator["product"] = ns();
    cluster_.apply(model(ns(), "m", {{"parallelism", {{"tensor", 1}}}, {"replicas", 2}, {"accelerator", accelerator}}));
  }
  /// Once all serve: the nodes of the pods.
  [[nodiscard]] std::set<std::string> nodes() {
    EXPECT_TRUE(eventually([&] { return condition(object(), "Ready") == "True/AllReplicasReady"; }))
        << object().dump(1);
    std::set<std::string> names;
    for (const Json& pod : cluster_.list(kPod, ns())) names.insert(pod["spec"].value("nodeName", ""));
    return names;
  }
};

TEST_F(GpuSharing, TimeSlicesComeFromANodeThatSharesInThatWay) {
  // As feature discovery labels a node of whole GPUs, and one that offers each GPU several times.
  cluster_.add_nodes(ns(), 0, 1);
  const std::string shared = ns() + "-SHARED";
  cluster_.must(
      {"create", "-f", "-"},
      Json{
          {"apiVersion", "v1"},
          {"kind", "Node"},
          {"metadata",
           {{"name", ns() + "-shared"},
            {"labels", {{"nvidia.com/gpu.product", shared}, {"nvidia.com/gpu.sharing-strategy", "time-slicing"}}},
            {"annotations", {{"kwok.x-k8s.io/node", "fake"}}}}},
          {"status", {{"allocatable", {{"cpu", "128"}, {"memory", "2Ti"}, {"pods", "110"}, {"nvidia.com/gpu", "32"}}}}}}
          .dump());
  deploy({{"sharing", "TimeSlicing"}});
  EXPECT_EQ(nodes(), std::set<std::string>{ns() + "-shared"});
  const Json status = object()["status"];
  EXPECT_EQ(status["resolved"]["accelerator"]["nodeConfiguration"], "time-slicing");
  EXPECT_TRUE(
      std::ranges::any_of(status["notices"], [](const Json& notice) { return notice["reason"] == "NoIsolation"; }));
  deploy({{"sharing", "MPS"}});
  EXPECT_TRUE(eventually([&] { return condition(object(), "Scheduled") == "False/Unschedulable"; }))
      << object().dump(1);
}

TEST_F(GpuSharing, SlicesComeFromANodeThatIsCutSo) {
  cluster_.add_nodes(ns(), 0, 1);
  cluster_.must(
      {"create", "-f", "-"},
      Json{{"apiVersion", "v1"},
           {"kind", "Node"},
           {"metadata",
            {{"name", ns() + "-cut"},
             {"labels",
              {{"nvidia.com/gpu.product", ns() + "-cut"}, {"nvidia.com/mig-1g.10gb.product", ns() + "-MIG-1g.10gb"}}},
             {"annotations", {{"kwok.x-k8s.io/node", "fake"}}}}},
           {"status",
            {{"allocatable", {{"cpu", "128"}, {"memory", "2Ti"}, {"pods", "110"}, {"nvidia.com/mig-1g.10gb", "7"}}}}}}
          .dump());
  deploy({{"mig", "1g.10gb"}});
  EXPECT_EQ(nodes(), std::set<std::string>{ns() + "-cut"});
}

}  // namespace
}  // namespace inference::e2e
