// What pods claim by Dynamic Resource Allocation.

#include "render/decide/claims.h"

#include <gtest/gtest.h>

#include "render/decide/fixtures.h"

namespace inference::render {
namespace {

using namespace fixtures;

struct Decided {
  ClaimChoice choice;
  Findings findings;
};

Decided decide(const Json& spec, const ClusterFacts& cluster = {.dra = true, .compute_domain = true},
               crd::Gang gang = crd::Gang::kNone) {
  const Settings settings = settings_of(spec);
  const Sizing sizing = sizing_of(settings);
  Decided decided;
  const AcceleratorChoice accelerator = decide_accelerator(settings, sizing, decided.findings);
  const Names names = decide_names("m", sizing.nodes.value, decided.findings);
  decided.choice = decide_claims(settings, sizing, accelerator, names, gang, cluster, rules(), decided.findings);
  return decided;
}

Json dra(const Json& claim, Json accelerator = Json::object()) {
  accelerator["mode"] = "DRA";
  accelerator["claim"] = claim;
  return {{"accelerator", accelerator}};
}

std::vector<std::string> expressions(const DeviceRequestValues& request) {
  std::vector<std::string> all;
  if (!request.selectors) return all;
  for (const Json& selector : request.selectors->value) all.push_back(selector["cel"]["expression"]);
  return all;
}

TEST(Claims, AreMadeWithDraOnly) {
  EXPECT_FALSE(decide({{"parallelism", {{"tensor", 8}}}}).choice.gpus.has_value());
  const auto [choice, findings] = decide({{"parallelism", {{"tensor", 8}}}, {"accelerator", {{"mode", "DRA"}}}});
  ASSERT_TRUE(choice.gpus.has_value());
  ASSERT_TRUE(choice.gpus->exact_request.has_value());
  const DeviceRequestValues& request = choice.gpus->exact_request->values;
  EXPECT_EQ(request.device_class.value, "gpu.nvidia.com");
  EXPECT_EQ(request.device_count.value, 8);
  EXPECT_FALSE(request.selectors || request.tolerations || request.choice_name);
  EXPECT_FALSE(choice.gpus->ranked_requests || choice.gpus->constraints || choice.channel);
  EXPECT_TRUE(findings.faults.empty());
  EXPECT_TRUE(says(findings, "NodeConfiguration"));
}

TEST(Claims, SelectByProductMemoryAndWhatTheUserWrites) {
  const auto [choice, findings] =
      decide(dra({{"memory", "40Gi"}, {"selectors", {"device.attributes['x.example'].fast"}}},
                 {{"product", "NVIDIA-H100-80GB-HBM3"}}));
  EXPECT_TRUE(findings.faults.empty());
  EXPECT_EQ(expressions(choice.gpus->exact_request->values),
            (std::vector<std::string>{
                "has(device.attributes['gpu.nvidia.com'].productName) && "
                "device.attributes['gpu.nvidia.com'].productName.replace(' ', '-') == 'NVIDIA-H100-80GB-HBM3'",
                "has(device.capacity['gpu.nvidia.com'].memory) && "
                "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('40Gi')) >= 0",
                "has(device.attributes['x.example'].fast) && device.attributes['x.example'].fast"}));
}

TEST(Claims, TakeSlicesByTheirProfile) {
  const auto [choice, findings] = decide(dra(Json::object(), {{"mig", "1g.10gb.me"}}));
  EXPECT_TRUE(findings.faults.empty());
  EXPECT_EQ(choice.gpus->exact_request->values.device_class.value, "mig.nvidia.com");
  EXPECT_EQ(expressions(choice.gpus->exact_request->values),
            (std::vector<std::string>{"has(device.attributes['gpu.nvidia.com'].profile) && "
                                      "device.attributes['gpu.nvidia.com'].profile == '1g.10gb+me'"}));
}

TEST(Claims, RankAlternativesWhichShareCountAndTolerations) {
  const Json toleration = {{"key", "gpu.nvidia.com/unhealthy"}, {"operator", "Exists"}};
  const auto [choice, findings] =
      decide(dra({{"alternatives", {{{"product", "NVIDIA-L40S"}}, {{"deviceClassName", "gpu.example"}}}},
                  {"matchAttribute", "resource.kubernetes.io/pcieRoot"},
                  {"tolerations", {toleration}}},
                 {{"product", "NVIDIA-H100"}}));
  EXPECT_TRUE(findings.faults.empty());
  EXPECT_FALSE(choice.gpus->exact_request.has_value());
  const auto& choices = choice.gpus->ranked_requests->values.choices;
  ASSERT_EQ(choices.size(), 3U);
  for (std::size_t i = 0; i < choices.size(); ++i) {
    EXPECT_EQ(choices[i].values.choice_name->value, "choice-" + std::to_string(i + 1));
    EXPECT_EQ(choices[i].values.tolerations->value, Json::array({toleration}));
  }
  EXPECT_NE(expressions(choices[0].values).at(0).find("NVIDIA-H100"), std::string::npos);
  EXPECT_NE(expressions(choices[1].values).at(0).find("NVIDIA-L40S"), std::string::npos);
  EXPECT_EQ(choices[2].values.device_class.value, "gpu.example");
  EXPECT_TRUE(expressions(choices[2].values).empty());
  EXPECT_EQ(choice.gpus->constraints->value,
            Json::parse(R"([{"requests": ["gpus"], "matchAttribute": "resource.kubernetes.io/pcieRoot"}])"));
}

TEST(Claims, HaveAChannelWhereNodesShareMemory) {
  const Json accelerator = {{"computeDomain", true}};
  const auto group = decide({{"nodes", 2}, {"accelerator", accelerator}});
  EXPECT_TRUE(group.findings.faults.empty());
  EXPECT_EQ(group.choice.channel->value, "m-channel");
  EXPECT_FALSE(group.choice.gpus.has_value()) << "the device plugin may give the GPUs";
  const auto single = decide({{"accelerator", accelerator}});
  EXPECT_FALSE(single.choice.channel.has_value());
  EXPECT_TRUE(says(single.findings, "ComputeDomainNotUsed"));
  EXPECT_FALSE(decide({{"nodes", 2}, {"accelerator", {{"computeDomain", false}}}}).choice.channel.has_value());
}

TEST(Claims, AreRefusedWhereTheyCannotBe) {
  const Json plain = {{"accelerator", {{"mode", "DRA"}}}};
  const Json domain = {{"nodes", 2}, {"accelerator", {{"computeDomain", true}}}};
  EXPECT_TRUE(refuses(decide(plain, {}).findings, "ClusterLacksDRA", "spec.accelerator.mode"));
  EXPECT_TRUE(refuses(decide(domain, {}).findings, "ClusterLacksDRA", "spec.accelerator.computeDomain"));
  const ClusterFacts without_driver{.dra = true};
  EXPECT_TRUE(decide(plain, without_driver).findings.faults.empty());
  EXPECT_TRUE(
      refuses(decide(domain, without_driver).findings, "ClusterLacksComputeDomain", "spec.accelerator.computeDomain"));
  EXPECT_TRUE(decide(domain, {.offline = true}).findings.faults.empty());
  EXPECT_TRUE(refuses(decide({{"parallelism", {{"tensor", 33}}}, {"accelerator", {{"mode", "DRA"}}}}).findings,
                      "InvalidSpec", "spec.parallelism"));
  const Json foreign = {{"deviceClassName", "gpu.example"}, {"memory", "1Gi"}};
  EXPECT_TRUE(refuses(decide(dra(foreign)).findings, "NotSupported", "spec.accelerator.claim"));
  EXPECT_TRUE(refuses(decide(dra({{"alternatives", {foreign}}})).findings, "NotSupported",
                      "spec.accelerator.claim.alternatives[0]"));
}

TEST(Claims, NeedAGangThatCountsDevices) {
  using enum crd::Gang;
  const ClusterFacts cluster{.dra = true};
  const auto spec = [](const char* gang, const char* mode = "DRA") {
    return Json{{"nodes", 2}, {"accelerator", {{"mode", mode}}}, {"scheduling", {{"gang", gang}}}};
  };
  const std::string path = "spec.scheduling.gang";
  EXPECT_TRUE(refuses(decide(spec("Gates"), cluster, kGates).findings, "NotSupported", path));
  EXPECT_TRUE(refuses(decide(spec("Gates"), {.offline = true}, kGates).findings, "NotSupported", path));
  EXPECT_TRUE(refuses(decide(spec("Auto"), cluster, kGates).findings, "ClusterLacksGang", path));
  const Findings offline = decide(spec("Auto"), {.offline = true}, kGates).findings;
  EXPECT_TRUE(offline.faults.empty());
  EXPECT_TRUE(says(offline, "ClaimsNeedAGang"));
  for (const crd::Gang gang : {kNative, kVolcano, kKueue, kNone}) {
    EXPECT_TRUE(decide(spec("Auto"), cluster, gang).findings.faults.empty()) << to_string(gang);
  }
  EXPECT_TRUE(decide(spec("Gates", "DevicePlugin"), cluster, kGates).findings.faults.empty());
}

TEST(Claims, TellThatAResourceNameIsNotUsed) {
  const Json accelerator = {{"mode", "DRA"}, {"resourceName", "nvidia.com/gpu"}};
  EXPECT_TRUE(says(decide({{"accelerator", accelerator}}).findings, "ResourceNameNotUsed"));
}

TEST(Guarded, AsksForEachAttributeOnceUnlessTheExpressionDoesSoItself) {
  struct Row {
    const char *written, *guarded;
  };
  for (
      const Row& row : {
          Row{"device.driver == 'a'", "device.driver == 'a'"},
          Row{"true", "true"},
          Row{"device.attributes['d'].a > 1", "has(device.attributes['d'].a) && device.attributes['d'].a > 1"},
          Row{R"(device.attributes["d"].a == device.capacity["d"].b)",
              R"(has(device.attributes["d"].a) && has(device.capacity["d"].b) && device.attributes["d"].a == device.capacity["d"].b)"},
          Row{"device.attributes['d'].a == 1 || device.attributes['d'].a == 2",
              "has(device.attributes['d'].a) && (device.attributes['d'].a == 1 || device.attributes['d'].a == 2)"},
          Row{"device.attributes['d'].name.matches('^x')",
              "has(device.attributes['d'].name) && device.attributes['d'].name.matches('^x')"},
          Row{"!has(device.attributes['d'].a) || device.attributes['d'].a",
              "!has(device.attributes['d'].a) || device.attributes['d'].a"},
          Row{"device.attributes['d'].?a.orValue(false)", "device.attributes['d'].?a.orValue(false)"},
          Row{"'a' in device.attributes['d'] && device.attributes['d'].a",
              "'a' in device.attributes['d'] && device.attributes['d'].a"},
          Row{"device.attributes['d", "device.attributes['d"},
          Row{"device.attributes[x].a", "device.attributes[x].a"},
          Row{"device.attributes['d']", "device.attributes['d']"},
      }) {
    EXPECT_EQ(guarded(row.written), row.guarded);
  }
}

}  // namespace
}  // namespace inference::render
