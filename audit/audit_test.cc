#include "audit/audit.h"

#include <filesystem>
#include <map>
#include <set>

#include "audit/fixtures.h"
#include "base/source_path.h"
#include "render/fixtures.h"

namespace inference::audit {
namespace {

using namespace fixtures;

/// The rules that find something more than an info.
Paths troubles(const std::vector<Object>& objects) {
  Paths rules;
  for (const Verdict& verdict : audit(objects)) {
    for (const Finding& finding : verdict.findings) {
      if (finding.severity != Severity::kInfo) rules.push_back(finding.rule);
    }
  }
  std::ranges::sort(rules);
  const auto doubles = std::ranges::unique(rules);
  rules.erase(doubles.begin(), doubles.end());
  return rules;
}

Paths troubles(const Json& object) {
  return troubles({std::make_shared<const Json>(object)});
}

TEST(Audit, FindsNothingWhereAllIsRight) {
  EXPECT_EQ(troubles(good()), Paths{});
  EXPECT_EQ(troubles(good_group()), Paths{});
}

TEST(Audit, JudgesOnlyWorkloadsWithGpus) {
  const Json plain = without(good(), std::string(kEngine) + "/resources/limits/nvidia.com~1gpu");
  EXPECT_TRUE(audit({std::make_shared<const Json>(plain)}).empty());
  EXPECT_TRUE(audit(objects_of("{apiVersion: v1, kind: Service, metadata: {name: x}}")).empty());
  EXPECT_TRUE(audit({}).empty());
}

TEST(Audit, OrdersFindingsBySeverityAndThenByRule) {
  Json object = without(without(good(), "/spec/strategy"), std::string(kPod) + "/nodeSelector");
  object = without(object, std::string(kEngine) + "/resources/limits/cpu");
  const std::vector<Verdict> verdicts = audit({std::make_shared<const Json>(object)});
  ASSERT_EQ(verdicts.size(), 1U);
  Paths rules;
  for (const Finding& finding : verdicts[0].findings) rules.push_back(finding.rule);
  EXPECT_EQ(rules, (Paths{"qos-guaranteed", "rollout-surge", "gpu-node-selection"}));
  EXPECT_EQ(verdicts[0].findings[0].object, "Deployment llm/llama");
  EXPECT_EQ(verdicts[0].findings[0].path, "spec.template.spec.containers[name=vllm].resources");
}

TEST(Audit, HasEachRuleOnceWithTextsForPeople) {
  EXPECT_EQ(rules().size(), 26U);
  std::set<std::string_view> ids;
  for (const Rule& rule : rules()) {
    EXPECT_TRUE(ids.insert(rule.id).second) << rule.id;
    EXPECT_FALSE(rule.title.empty() || rule.title.ends_with('.')) << rule.id;
    EXPECT_TRUE(rule.why.ends_with('.')) << rule.id;
  }
}

/// What a golden case's own spec asks for, or leaves open; nothing else may be found in what is rendered of it.
const std::map<std::string, Paths>& asked_for() {
  static const Paths kAnyProduct = {"gpu-node-selection"};
  static const Paths kAnyProductNoRdma = {"gpu-node-selection", "rdma"};
  static const std::map<std::string, Paths> kCases = {
      {"claim", {"gpu-node-selection", "rollout-surge"}},  // maxSurge: 1
      {"dra-compute-domain", kAnyProduct},
      {"gates", kAnyProductNoRdma},
      {"kueue-multi-node", {"rdma"}},  // a queue's flavor chooses the nodes
      {"minimal", kAnyProduct},
      {"multi-node-volcano-policy", kAnyProductNoRdma},
      {"native-gang", {"gpu-node-selection", "rdma", "rollout-surge"}},  // maxSurge: 1
      {"no-gang", {"gang-scheduling", "gpu-node-selection", "rdma"}},    // gang: None
      {"older-vllm", {"gpu-node-selection", "grace-period"}},            // a drain of 30 s
      {"pod-template", kAnyProduct},
      {"rdma-interfaces", kAnyProduct},
      {"sglang", kAnyProduct},
      {"sglang-multi-node", kAnyProductNoRdma},
      {"suspended", kAnyProductNoRdma},
      {"tensorrt-llm", kAnyProduct},
      {"topology-enforce-multi-node", kAnyProduct},
  };
  return kCases;
}

TEST(Audit, FindsNothingInWhatWeRenderButWhatTheSpecAsksFor) {
  std::size_t cases = 0;
  for (const auto& folder : std::filesystem::directory_iterator(source_path("render/golden"))) {
    const std::string name = folder.path().filename().string();
    const auto known = asked_for().find(name);
    const std::vector<Object> objects = objects_of(render::read_file(folder.path() / "rendered.yaml"));
    EXPECT_EQ(audit(objects).size(), 1U) << name;
    EXPECT_EQ(troubles(objects), known == asked_for().end() ? Paths{} : known->second) << name;
    ++cases;
  }
  EXPECT_GT(cases, 20U);
}

TEST(Audit, ThrowsNothingWhateverItIsGiven) {
  const Json whole = good_group();
  std::set<std::string> places;
  const Json flat = whole.flatten();
  for (const auto& [pointer, value] : flat.items()) {
    for (Json::json_pointer place(pointer); !place.empty(); place.pop_back()) places.insert(place.to_string());
  }
  // Each part of a good object in turn is replaced by what nobody expects there.
  for (const std::string& place : places) {
    for (const Json& odd : {Json(nullptr), Json(-1), Json(1e300), Json("\xff^"), Json::array({nullptr, 7}),
                            Json::array(), Json{{"name", 7}}, Json::object()}) {
      Json broken = whole;
      broken[Json::json_pointer(place)] = odd;
      static_cast<void>(audit({std::make_shared<const Json>(broken)}));
    }
  }
}

}  // namespace
}  // namespace inference::audit
