// An engine that ends tells why, on the real API server and LeaderWorkerSet: kaito-project/kaito#2132,
// vllm-project/vllm#2418 (a context that does not fit into the GPU). The local cluster's fake kubelet lets every engine
// of one image end as vLLM does, when its context is 1048576 tokens.
#include <gtest/gtest.h>

#include <csignal>

#include "e2e/model.h"
#include "e2e/operator_suite.h"

namespace inference::e2e {
namespace {

using namespace client::resources;

class EngineFailureTest : public OwnNodesSuite {
 protected:
  EngineFailureTest() : OwnNodesSuite("engine") {}
  [[nodiscard]] Json deploy(std::int64_t nodes, std::int64_t replicas, std::int64_t max_model_len,
                            const char* gang = "Auto") {
    Json object = model(ns(), "m",
                        {{"nodes", nodes},
                         {"replicas", replicas},
                         {"serving", {{"maxModelLen", max_model_len}}},
                         {"engine", {{"image", "registry.invalid/small-gpu:1"}}},
                         {"accelerator", {{"product", ns()}}},
                         {"scheduling", {{"gang", gang}}}});
    cluster_.apply(object);
    return object;
  }
  void expect_the_engines_own_words() {
    const std::string why = condition_message(object(), "Ready");
    EXPECT_NE(why.find("spec.serving.maxModelLen"), std::string::npos) << why;
    EXPECT_NE(why.find("810208"), std::string::npos) << why;
    EXPECT_NE(why.find("To serve at least one request"), std::string::npos) << why;
  }
  [[nodiscard]] std::int64_t restarts() {
    return object().value("/status/groups/restarts"_json_pointer, std::int64_t{0});
  }
  /// Pods of the model that are there and have a node.
  [[nodiscard]] std::size_t placed() {
    const auto pods = cluster_.list(kPod, ns());
    return static_cast<std::size_t>(
        std::ranges::count_if(pods, [](const Json& pod) { return pod["spec"].contains("nodeName"); }));
  }
};

TEST_F(EngineFailureTest, IsToldAfterTheFirstCrashAndASmallerContextHealsEveryReplica) {
  cluster_.add_nodes(ns(), 0, 3);
  (void)deploy(1, 3, 1048576);
  ASSERT_TRUE(becomes("Stalled", "True/ContextTooLong"));
  EXPECT_EQ(condition(object(), "Ready"), "False/ContextTooLong");
  EXPECT_EQ(condition(object(), "Progressing"), "False/ContextTooLong");
  expect_the_engines_own_words();
  // Three broken replicas of the old spec, of which one may be away at a time.
  (void)deploy(1, 3, 810208);
  EXPECT_TRUE(eventually([&] { return is_ready(); })) << object().dump(1);
  EXPECT_EQ(condition(object(), "Stalled"), "");
}

TEST_F(EngineFailureTest, OfAGroupIsCountedToldAndHealedByASmallerContext) {
  cluster_.add_nodes(ns(), 0, 4);
  (void)deploy(2, 2, 1048576, "None");
  EXPECT_TRUE(eventually([&] { return condition(object(), "Ready") == "False/ContextTooLong"; })) << object().dump(1);
  ASSERT_TRUE(becomes("Stalled", "True/GroupRestarting"));
  EXPECT_EQ(condition(object(), "Ready"), "False/GroupRestarting");
  expect_the_engines_own_words();
  EXPECT_GE(restarts(), 2);
  (void)deploy(2, 2, 810208, "None");
  EXPECT_TRUE(eventually([&] { return is_ready(); })) << object().dump(1);
  EXPECT_EQ(condition(object(), "Stalled"), "");
}

TEST_F(EngineFailureTest, ARestartIsCountedOnceAlsoAcrossARestartOfTheOperator) {
  cluster_.add_nodes(ns(), 0, 2);
  (void)deploy(2, 1, 8192, "None");
  ASSERT_TRUE(eventually([&] { return is_ready(); })) << object().dump(1);
  EXPECT_EQ(restarts(), 0);
  const Json uid = cluster_.get(kPod, ns(), "m-0")["metadata"]["uid"];
  cluster_.must({"delete", "pod", "m-0-1", "-n", ns(), "--wait=false"});
  ASSERT_TRUE(eventually([&] {
    const Json leader = cluster_.get(kPod, ns(), "m-0");
    return !leader.is_null() && leader["metadata"]["uid"] != uid && is_ready() && restarts() > 0;
  })) << object().dump(1);
  EXPECT_EQ(restarts(), 1);
  EXPECT_EQ(condition(object(), "Stalled"), "");
  EXPECT_EQ(process_->stop(SIGTERM), 0);
  process_ = std::make_unique<OperatorProcess>(cluster_);
  // A change that is seen after the restart shows that the groups have been looked at.
  cluster_.must({"annotate", "inferencedeployment", "m", "-n", ns(), "note=seen"});
  cluster_.must({"patch", "inferencedeployment", "m", "-n", ns(), "--type=merge", "-p",
                 R"({"spec": {"drain": {"timeoutSeconds": 120}}})"});
  ASSERT_TRUE(eventually([&] { return is_ready(); })) << object().dump(1);
  EXPECT_EQ(restarts(), 1) << "a rollout is no restart";
}

/// How long the group was without nodes before it got them again, by its pods' own times.
class BackOff : public EngineFailureTest, public testing::WithParamInterface<const char*> {};

TEST_P(BackOff, OfAGroupThatFailsAgainAndAgainGrowsAndEndsByItself) {
  cluster_.add_nodes(ns(), 0, 2);
  (void)deploy(2, 1, 1048576, GetParam());
  ASSERT_TRUE(becomes("Stalled", "True/GroupRestarting"));
  // All pods of the group are there and wait, though both nodes are free.
  std::string why;
  ASSERT_TRUE(eventually([&] {
    why = condition_message(object(), "Scheduled");
    return cluster_.list(kPod, ns()).size() == 2 && placed() == 0 && why.find("pauses until") != std::string::npos;
  })) << why;
  const std::int64_t before = restarts();
  EXPECT_TRUE(eventually([&] { return placed() == 2; })) << "the pause ends by itself";
  EXPECT_TRUE(eventually([&] { return restarts() > before; })) << object().dump(1);
  // The third pause takes 20 s and more, but a new spec need not wait for it.
  (void)deploy(2, 1, 810208, GetParam());
  EXPECT_TRUE(eventually([&] { return is_ready(); })) << object().dump(1);
}

INSTANTIATE_TEST_SUITE_P(Gangs, BackOff, testing::Values("Gates", "Native"),
                         [](const auto& gang) { return std::string(gang.param); });

TEST_F(EngineFailureTest, AContextBeyond32BitsReachesTheEngineAsItIs) {
  cluster_.add_nodes(ns(), 0, 1);
  (void)deploy(1, 1, 2147483648);
  ASSERT_TRUE(eventually([&] { return is_ready(); })) << object().dump(1);
  const std::string args =
      cluster_.get(kDeployment, ns(), "m")["spec"]["template"]["spec"]["containers"][0]["args"].dump();
  EXPECT_NE(args.find("\"2147483648\""), std::string::npos) << args;
  EXPECT_EQ(object()["status"]["resolved"]["serving"]["maxModelLen"], 2147483648);
}

}  // namespace
}  // namespace inference::e2e
