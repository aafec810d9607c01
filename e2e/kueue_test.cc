// Models whose pods Kueue holds, on the real Kueue, LeaderWorkerSet manager and kube-scheduler.
#include <gtest/gtest.h>

#include <csignal>
#include <iostream>
#include <map>
#include <set>
#include <thread>

#include "e2e/model.h"
#include "e2e/operator_suite.h"
#include "e2e/own_cluster.h"

namespace inference::e2e {
namespace {

using namespace client::resources;

enum class Counts { kQuotaOnly, kNodesToo };

/// A control plane with Kueue for the suite; nodes, a queue and a namespace for each test.
class KueueTest : public OwnNodesSuite {
 protected:
  KueueTest() : OwnNodesSuite("kueue") {}
  static void SetUpTestSuite() {
    own_ = std::make_unique<OwnCluster>("kueue", std::vector<std::string>{"--nodes", "0", "--with", "kueue"});
    real_ = std::make_unique<RealCluster>(own_->kubeconfig(), RealCluster::Install::kYes);
    start(*real_);
  }
  static void TearDownTestSuite() {
    OperatorSuite::TearDownTestSuite();
    real_.reset();
    own_.reset();
  }
  void TearDown() override {
    if (HasFailure())
      std::cerr << cluster_.kubectl({"get", "workloads,pods,leaderworkersets,events", "-n", ns(), "-o", "wide"}).text;
    OwnNodesSuite::TearDown();
    (void)cluster_.kubectl({"delete", "clusterqueues,resourceflavors,topologies", ns(), "--wait=false"});
  }

  void apply(const Json& object) { cluster_.must({"apply", "-f", "-"}, object.dump()); }
  /// LocalQueue `lq` before a ClusterQueue with this many GPUs, of the test's own nodes.
  void make_queue(Counts counts, int gpus) {
    constexpr const char* kVersion = "kueue.x-k8s.io/v1beta2";
    Json flavor = {{"nodeLabels", {{"nvidia.com/gpu.product", ns()}}}};
    if (counts == Counts::kNodesToo) {
      apply({{"apiVersion", kVersion},
             {"kind", "Topology"},
             {"metadata", {{"name", ns()}}},
             {"spec", {{"levels", {{{"nodeLabel", "kubernetes.io/hostname"}}}}}}});
      flavor["topologyName"] = ns();
    }
    apply({{"apiVersion", kVersion}, {"kind", "ResourceFlavor"}, {"metadata", {{"name", ns()}}}, {"spec", flavor}});
    const auto quota = [](const char* resource, const std::string& amount) -> Json {
      return {{"name", resource}, {"nominalQuota", amount}};
    };
    apply({{"apiVersion", kVersion},
           {"kind", "ClusterQueue"},
           {"metadata", {{"name", ns()}}},
           {"spec",
            {{"namespaceSelector", Json::object()},
             {"resourceGroups",
              {{{"coveredResources", {"cpu", "memory", "nvidia.com/gpu"}},
                {"flavors",
                 {{{"name", ns()},
                   {"resources",
                    {quota("cpu", "10000"), quota("memory", "100Ti"),
                     quota("nvidia.com/gpu", std::to_string(gpus))}}}}}}}}}}});
    apply({{"apiVersion", kVersion},
           {"kind", "LocalQueue"},
           {"metadata", {{"name", "lq"}, {"namespace", ns()}}},
           {"spec", {{"clusterQueue", ns()}}}});
  }
  [[nodiscard]] Json queued(Json spec, const std::string& name = "m") const {
    spec["accelerator"] = {{"product", ns()}};
    spec["scheduling"]["queue"] = "lq";
    return model(ns(), name, spec);
  }
  [[nodiscard]] Json groups() { return cluster_.get(kLeaderWorkerSet, ns(), "m"); }
  [[nodiscard]] int placed() {
    int count = 0;
    for (const Json& pod : cluster_.list(kPod, ns())) count += pod["spec"].contains("nodeName") ? 1 : 0;
    return count;
  }
  [[nodiscard]] std::set<std::string> events(const std::string& reason) {
    std::set<std::string> notes;
    for (const Json& event : cluster_.list(kEvent, ns())) {
      if (event.value("reason", "") == reason) notes.insert(event.value("note", ""));
    }
    return notes;
  }
  void expect_gated(const std::string& gpus, const std::string& name = "m") {
    const std::string words = "for " + gpus + " GPUs; Kueue holds them until queue lq";
    EXPECT_TRUE(eventually([&] {
      const Json now = object(name);
      return condition(now, "Scheduled") == "False/WaitingForQuota" &&
             condition_message(now, "Scheduled").find(words) != std::string::npos;
    })) << object(name).dump(1);
  }

  static inline std::unique_ptr<OwnCluster> own_;
  static inline std::unique_ptr<RealCluster> real_;
};

TEST_F(KueueTest, OneNodeShortNoPodIsPlacedAndTheMissingNodeBringsTheWholeGroup) {
  make_queue(Counts::kNodesToo, 1000);
  cluster_.add_nodes(ns(), 0, 1);
  cluster_.apply(queued({{"nodes", 2}}));
  expect_gated("16");
  EXPECT_EQ(object()["status"]["resolved"]["gang"], "Kueue") << "the queue is there, so Auto takes it";
  EXPECT_EQ(condition_message(object(), "Resolved").find("QuotaIsNoGang"), std::string::npos);
  EXPECT_EQ(placed(), 0);

  cluster_.add_nodes(ns(), 1, 1);
  EXPECT_TRUE(eventually([&] { return is_ready(); })) << object().dump(1);
  EXPECT_EQ(placed(), 2);

  // Kueue and we do not fight over what its webhooks add: a settled model is written no more, nor by a new process.
  std::this_thread::sleep_for(std::chrono::seconds{3});
  const auto before = cluster_.operator_writes(ns());
  EXPECT_EQ(process_->stop(SIGTERM), 0);
  process_ = std::make_unique<OperatorProcess>(cluster_);
  ASSERT_TRUE(eventually([&] { return process_->log().find("workers started") != std::string::npos; }));
  std::this_thread::sleep_for(std::chrono::seconds{5});
  const auto after = cluster_.operator_writes(ns());
  EXPECT_EQ(after.size(), before.size()) << after.back();
}

TEST_F(KueueTest, OfTwoGroupsOnThreeNodesOneIsPlacedWholeAndTheOtherNotAtAll) {
  make_queue(Counts::kNodesToo, 1000);
  cluster_.add_nodes(ns(), 0, 3);
  cluster_.apply(queued({{"nodes", 2}, {"replicas", 2}}));
  ASSERT_TRUE(eventually([&] { return placed() == 2; }));
  expect_gated("16");
  std::map<std::string, int> by_group;
  for (const Json& pod : cluster_.list(kPod, ns()))
    by_group[pod["metadata"]["labels"].value("leaderworkerset.sigs.k8s.io/group-index", "none")] +=
        pod["spec"].contains("nodeName") ? 1 : 0;
  EXPECT_TRUE(by_group == (std::map<std::string, int>{{"0", 2}, {"1", 0}}) ||
              by_group == (std::map<std::string, int>{{"0", 0}, {"1", 2}}));
  cluster_.add_nodes(ns(), 3, 1);
  EXPECT_TRUE(eventually([&] { return is_ready(); })) << object().dump(1);

  // Another model has its turn when this one goes.
  cluster_.apply(queued({{"nodes", 2}, {"replicas", 2}}, "next"));
  expect_gated("32", "next");
  cluster_.remove(kInferenceDeployment, ns(), "m");
  EXPECT_TRUE(eventually([&] { return is_ready("next"); })) << object("next").dump(1);
}

TEST_F(KueueTest, AQueueThatCountsQuotaOnlyIsFlagged) {
  make_queue(Counts::kQuotaOnly, 8);
  cluster_.add_nodes(ns(), 0, 2);
  cluster_.apply(queued({{"nodes", 2}}));
  expect_gated("16");
  EXPECT_EQ(placed(), 0);
  EXPECT_NE(condition_message(object(), "Resolved").find("QuotaIsNoGang"), std::string::npos) << object().dump(1);
  EXPECT_TRUE(eventually([&] { return events("QuotaIsNoGang").size() == 1; }));
}

TEST_F(KueueTest, WhatKueueRefusesAndWhatWedgesItMakesTheGroupsAnewAndNothingElseDoes) {
  make_queue(Counts::kNodesToo, 1000);
  cluster_.add_nodes(ns(), 0, 3);
  Json spec = {{"nodes", 2}};
  cluster_.apply(queued(spec));
  ASSERT_TRUE(eventually([&] { return is_ready(); })) << object().dump(1);
  std::string uid = groups()["metadata"]["uid"];
  EXPECT_EQ(placed(), 2);

  spec["engine"] = {{"args", {"--seed=7"}}};
  cluster_.apply(queued(spec));
  ASSERT_TRUE(eventually([&] { return is_ready(); })) << object().dump(1);
  EXPECT_EQ(groups()["metadata"]["uid"], uid) << "arguments are Kueue's business no more than ours";
  EXPECT_TRUE(events("Recreated").empty());

  for (const auto& [change, field] :
       {std::pair{Json{{"nodes", 3}}, "spec.leaderWorkerTemplate.size"},
        std::pair{Json{{"resources", {{"cpu", 16}}}},
                  "spec.leaderWorkerTemplate.leaderTemplate.spec.containers[0].resources.requests.cpu"}}) {
    spec.update(change);
    cluster_.apply(queued(spec));
    ASSERT_TRUE(eventually([&] { return is_ready(); })) << object().dump(1);
    EXPECT_NE(groups()["metadata"]["uid"], uid) << field;
    uid = groups()["metadata"]["uid"];
    EXPECT_EQ(placed(), 3) << field;
    EXPECT_TRUE(eventually([&] {
      const auto notes = events("Recreated");
      return std::ranges::any_of(notes, [&](const auto& note) { return note.ends_with(field); });
    })) << field;
  }
  EXPECT_EQ(events("Recreated").size(), 2U);
}

TEST_F(KueueTest, SinglePodsWaitForQuotaEachByItselfAndLeaveWithTheirQueue) {
  make_queue(Counts::kQuotaOnly, 8);
  cluster_.add_nodes(ns(), 0, 2);
  Json waiting = queued({{"replicas", 2}, {"scheduling", {{"gang", "Kueue"}}}});
  cluster_.apply(waiting);
  ASSERT_TRUE(eventually([&] { return placed() == 1; }));
  expect_gated("8");
  // Leaving the queue is one of the changes that Kueue refuses.
  waiting["spec"]["scheduling"] = {{"gang", "None"}};
  cluster_.apply(waiting);
  EXPECT_TRUE(eventually([&] { return is_ready(); })) << object().dump(1);
  EXPECT_EQ(placed(), 2);
  EXPECT_EQ(events("Recreated").size(), 1U);
}

}  // namespace
}  // namespace inference::e2e
