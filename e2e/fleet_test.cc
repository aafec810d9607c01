// Many models at once, and the promise that a settled fleet makes no write.
#include <gtest/gtest.h>

#include <csignal>
#include <thread>

#include "e2e/model.h"
#include "e2e/real_cluster.h"

namespace inference::e2e {
namespace {

using namespace client::resources;
using std::chrono::seconds;

constexpr int kModels = 200;

std::string last(const std::vector<std::string>& writes) {
  return writes.empty() ? "" : writes.back();
}

TEST(Fleet, TwoHundredModelsConvergeAndThenNothingIsWrittenNotEvenAfterARestart) {
  RealCluster& cluster = RealCluster::instance();
  Namespace fleet(cluster, "fleet");
  cluster.add_nodes(fleet.name(), 0, 3, 100);
  auto process = std::make_unique<OperatorProcess>(cluster);

  Json items = Json::array();
  for (int index = 0; index < kModels; ++index) {
    items.push_back(model(fleet.name(), "m" + std::to_string(index),
                          {{"parallelism", {{"tensor", 1}}},
                           {"accelerator", {{"product", fleet.name()}}},
                           {"resources", {{"cpu", 1}, {"memory", "16Gi"}}}}));
  }
  cluster.must({"apply", "--server-side", "-f", "-"},
               Json{{"apiVersion", "v1"}, {"kind", "List"}, {"items", items}}.dump());
  const auto ready = [&] {
    int count = 0;
    for (const Json& object : cluster.list(kInferenceDeployment, fleet.name()))
      count += condition(object, "Ready").starts_with("True/") ? 1 : 0;
    return count;
  };
  ASSERT_TRUE(eventually([&] { return ready() == kModels; }, seconds{600}, seconds{2}))
      << ready() << " of " << kModels << "\n"
      << process->log().substr(0, 5000);

  // Events may still be on their way for a moment; after that, silence.
  std::this_thread::sleep_for(seconds{3});
  const auto before = cluster.operator_writes(fleet.name());
  EXPECT_GE(before.size(), std::size_t{kModels} * 5);
  std::this_thread::sleep_for(seconds{60});
  const auto settled = cluster.operator_writes(fleet.name());
  EXPECT_EQ(settled.size(), before.size()) << last(settled);

  EXPECT_EQ(process->stop(SIGTERM), 0);
  process = std::make_unique<OperatorProcess>(cluster);
  ASSERT_TRUE(eventually([&] { return process->log().find("workers started") != std::string::npos; }))
      << process->log();
  std::this_thread::sleep_for(seconds{10});
  const auto restarted = cluster.operator_writes(fleet.name());
  EXPECT_EQ(restarted.size(), settled.size()) << last(restarted);
  EXPECT_EQ(process->stop(SIGTERM), 0);
  fleet.remove();
  cluster.remove_nodes(fleet.name());
}

}  // namespace
}  // namespace inference::e2e
