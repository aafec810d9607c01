#include "audit/fixtures.h"

namespace inference::audit {
namespace {

using namespace fixtures;

const std::string kStartup = std::string(kEngine) + "/startupProbe";
const std::string kLiveness = std::string(kEngine) + "/livenessProbe";
const std::string kReadiness = std::string(kEngine) + "/readinessProbe";
constexpr auto kContainer = "spec.template.spec.containers[name=vllm]";

std::string at(const std::string& key) {
  return std::string(kContainer) + "." + key;
}

TEST(StartupProbe, IsMissedWhereLivenessCounts) {
  EXPECT_EQ(places(startup_probe, good()), Paths{});
  const Json missing = without(good(), kStartup);
  EXPECT_EQ(places(startup_probe, missing), Paths{at("livenessProbe")});
  EXPECT_EQ(places(startup_probe, with(missing, kLiveness + "/initialDelaySeconds", 1200)), Paths{at("livenessProbe")})
      << "a delay holds the probe back at every start, and no longer";
  EXPECT_EQ(places(startup_probe, without(missing, kLiveness)), Paths{}) << "nothing kills the load";
  EXPECT_EQ(fixed(startup_probe, missing)[Json::json_pointer(kStartup)]["httpGet"]["path"], "/health");
}

TEST(StartupProbe, NeedsTenMinutes) {
  const auto with_probe = [](Json probe) { return places(startup_probe, with(good(), kStartup, std::move(probe))); };
  EXPECT_EQ(with_probe({{"periodSeconds", 10}, {"failureThreshold", 30}}), Paths{at("startupProbe")});
  EXPECT_EQ(with_probe({{"failureThreshold", 60}}), Paths{}) << "the default period is 10 s";
  EXPECT_EQ(with_probe({{"periodSeconds", 5}, {"failureThreshold", 60}, {"initialDelaySeconds", 300}}), Paths{});
  EXPECT_EQ(with_probe(Json::object()), Paths{at("startupProbe")}) << "30 s by default";
  static_cast<void>(fixed(startup_probe, with(good(), kStartup + "/failureThreshold", 7)));
}

TEST(LivenessAggressive, FindsWhatFailsInUnderAMinute) {
  EXPECT_EQ(places(liveness_aggressive, good()), Paths{});
  EXPECT_EQ(places(liveness_aggressive, without(good(), kLiveness)), Paths{});
  const Json defaults = with(good(), kLiveness, {{"httpGet", {{"path", "/health"}, {"port", 8000}}}});
  EXPECT_EQ(places(liveness_aggressive, defaults), Paths{at("livenessProbe")});
  EXPECT_EQ(places(liveness_aggressive, with(good(), kLiveness + "/periodSeconds", 20)), Paths{}) << "60 s";
  static_cast<void>(fixed(liveness_aggressive, defaults));
}

TEST(ReadinessProbe, IsMissedOnWhatServes) {
  EXPECT_EQ(places(readiness_probe, good()), Paths{});
  const Json missing = without(good(), kReadiness);
  EXPECT_EQ(places(readiness_probe, missing), Paths{at("readinessProbe")});
  EXPECT_EQ(fixed(readiness_probe, missing)[Json::json_pointer(kReadiness)]["httpGet"]["port"], 8000);
  const Json bare = without(without(missing, kStartup), kLiveness);
  EXPECT_EQ(fixed(readiness_probe, bare)[Json::json_pointer(kReadiness)]["httpGet"]["path"], "/health")
      << "known of the engine";
}

TEST(ReadinessProbe, IsNotAskedOfWhatDoesNotServe) {
  const Json missing = without(good(), kReadiness);
  const std::string engine = kEngine;
  Json notebook = with(with(missing, engine + "/image", "corp/notebook:1"), engine + "/command", {"work"});
  EXPECT_EQ(places(readiness_probe, notebook), Paths{at("readinessProbe")}) << "it has a port";
  EXPECT_EQ(places(readiness_probe, without(notebook, engine + "/ports")), Paths{});
  EXPECT_EQ(places(readiness_probe, with(missing, engine + "/command", {"torchrun", "train.py"})), Paths{});
  Json job = missing;
  job["apiVersion"] = "batch/v1";
  job["kind"] = "Job";
  EXPECT_EQ(places(readiness_probe, job), Paths{});
  EXPECT_EQ(places(readiness_probe, good_group()), Paths{}) << "workers serve no HTTP";
}

}  // namespace
}  // namespace inference::audit
