#include "audit/drain.h"
#include "audit/fixtures.h"

namespace inference::audit {
namespace {

using namespace fixtures;

const std::string kHook = std::string(kEngine) + "/lifecycle/preStop";
const std::string kGrace = std::string(kPod) + "/terminationGracePeriodSeconds";
const Paths kHookPath = {"spec.template.spec.containers[name=vllm].lifecycle.preStop"};
const Paths kGracePath = {"spec.template.spec.terminationGracePeriodSeconds"};

Json hook(Json value) {
  return with(good(), kHook, std::move(value));
}
Json script(const char* text) {
  return hook({{"exec", {{"command", {"sh", "-c", text}}}}});
}
Json job(Json object) {
  object["apiVersion"] = "batch/v1";
  object["kind"] = "Job";
  return object;
}

TEST(DrainHook, IsMissed) {
  EXPECT_EQ(places(drain_hook, good()), Paths{});
  const Json missing = without(good(), std::string(kEngine) + "/lifecycle");
  EXPECT_EQ(places(drain_hook, missing), kHookPath);
  EXPECT_EQ(places(drain_hook, hook({{"tcpSocket", {{"port", 1}}}})), kHookPath) << "no kubelet runs it";
  EXPECT_EQ(places(drain_hook, job(missing)), Paths{}) << "a task serves nobody";
  static_cast<void>(fixed(drain_hook, missing));
}

TEST(DrainHook, MustOutlastTheRemovalOfTheEndpoint) {
  EXPECT_EQ(places(drain_hook, hook({{"sleep", {{"seconds", 2}}}})), kHookPath);
  EXPECT_EQ(places(drain_hook, hook({{"sleep", {{"seconds", 5}}}})), Paths{});
  EXPECT_EQ(places(drain_hook, hook({{"exec", {{"command", {"sleep", "1"}}}}})), kHookPath);
  EXPECT_EQ(places(drain_hook, hook({{"exec", {{"command", {"/bin/sleep", "20"}}}}})), Paths{});
  EXPECT_EQ(places(drain_hook, script("sleep 3")), kHookPath);
  EXPECT_EQ(places(drain_hook, script("sleep 3; kill -TERM 1; sleep 4")), Paths{});
  EXPECT_EQ(places(drain_hook, script("kill -SIGINT 1")), kHookPath);
  EXPECT_EQ(places(drain_hook, script("pkill vllm")), kHookPath);
}

TEST(DrainHook, MayBeWhatNobodyCanTell) {
  for (const char* text :
       {"while curl -s localhost:8000/metrics | grep -q running; do sleep 1; done", "/scripts/pre-stop.sh",
        "python3 /opt/drain.py", "sleep $DRAIN_SECONDS", "curl -X POST localhost:8000/drain", "sleep 1m"})
    EXPECT_EQ(places(drain_hook, script(text)), Paths{}) << text;
  EXPECT_EQ(places(drain_hook, hook({{"exec", {{"command", {"/opt/prestop"}}}}})), Paths{});
}

TEST(DrainHook, MustNotAskVllmWhichHasNoDrain) {
  const Json asks = hook({{"httpGet", {{"path", "/drain"}, {"port", 8000}}}});
  EXPECT_EQ(places(drain_hook, asks), kHookPath);
  const Json other =
      with(with(asks, std::string(kEngine) + "/image", "corp/server:1"), std::string(kEngine) + "/command", {"serve"});
  EXPECT_EQ(places(drain_hook, other), Paths{});
}

TEST(DrainHook, IsNeededOnWorkersThatCutTheirLeader) {
  const std::string lifecycle = std::string(kWorker) + "/containers/0/lifecycle";
  const Json missing = without(good_group(), lifecycle);
  EXPECT_EQ(places(drain_hook, good_group()), Paths{});
  EXPECT_EQ(places(drain_hook, missing),
            Paths{"spec.leaderWorkerTemplate.workerTemplate.spec.containers[name=vllm].lifecycle.preStop"});
  const std::string engine = std::string(kWorker) + "/containers/0";
  Json sglang = with(missing, engine + "/image", "lmsysorg/sglang:v0.5.23");
  sglang = with(sglang, engine + "/command", {"python3", "-m", "sglang.launch_server"});
  EXPECT_EQ(places(drain_hook, sglang), Paths{}) << "its workers wait for rank 0";
}

TEST(GracePeriod, FindsAMinuteOrLess) {
  EXPECT_EQ(places(grace_period, good()), Paths{});
  EXPECT_EQ(places(grace_period, with(good(), kGrace, 60)), kGracePath);
  EXPECT_EQ(places(grace_period, without(good(), kGrace)), kGracePath) << "30 s by default";
  EXPECT_EQ(places(grace_period, job(without(good(), kGrace))), Paths{});
  EXPECT_EQ(places(grace_period, with(with_args(good(), {"--model", "m"}), kGrace, 61)), Paths{});
  static_cast<void>(fixed(grace_period, without(good(), kGrace)));
}

TEST(GracePeriod, FindsLessThanPreStopAndTheEnginesOwnDrain) {
  EXPECT_EQ(places(grace_period, with(good(), kGrace, 314)), kGracePath) << "15 s + 300 s";
  EXPECT_EQ(places(grace_period, with(good(), kGrace, 315)), Paths{});
  EXPECT_EQ(fixed(grace_period, with(hook({{"sleep", {{"seconds", 900}}}}), kGrace, 120))[Json::json_pointer(kGrace)],
            1210);
  EXPECT_EQ(places(grace_period, with(script("sleep 9223372036854775807"), kGrace, 120)), kGracePath);
}

}  // namespace
}  // namespace inference::audit
