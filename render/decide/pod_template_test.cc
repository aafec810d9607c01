// Merging a podTemplate, and what it must not do.

#include "render/decide/pod_template.h"

#include <gtest/gtest.h>

#include "render/decide/fixtures.h"

namespace inference::render {
namespace {

using namespace fixtures;

Json merged(Json pod, const Json& patch) {
  merge_pod_template(pod, patch);
  return pod;
}

TEST(PodTemplate, MergesListsByTheirKey) {
  const Json pod = {
      {"spec",
       {{"containers",
         {{{"name", "engine"}, {"image", "i"}, {"args", {"a", "b"}}, {"env", {{{"name", "A"}, {"value", "1"}}}}}}},
        {"tolerations", {{{"key", "gpu"}}}},
        {"volumes", {{{"name", "dshm"}, {"emptyDir", Json::object()}}}}}}};
  const Json patch = {{"spec",
                       {{"containers",
                         {{{"name", "engine"},
                           {"args", {"c"}},
                           {"image", nullptr},
                           {"env", {{{"name", "A"}, {"value", "2"}}, {{"name", "B"}, {"value", "3"}}}}},
                          {{"name", "side"}, {"image", "s"}}}},
                        {"tolerations", {{{"key", "x"}}}},
                        {"volumes", {{{"name", "dshm"}, {"$patch", "delete"}}}}}}};
  const Json spec = merged(pod, patch)["spec"];
  ASSERT_EQ(spec["containers"].size(), 2U);
  EXPECT_EQ(spec["containers"][0]["args"], Json::array({"c"}));
  EXPECT_FALSE(spec["containers"][0].contains("image"));
  EXPECT_EQ(spec["containers"][0]["env"].size(), 2U);
  EXPECT_EQ(spec["containers"][0]["env"][0]["value"], "2");
  EXPECT_EQ(spec["tolerations"].size(), 2U);
  EXPECT_TRUE(spec["volumes"].empty());
  EXPECT_EQ(merged(merged(pod, patch), patch), merged(pod, patch)) << "merging twice changes nothing";
}

TEST(PodTemplate, RefusesWhatWouldBreakTheObject) {
  struct Row {
    Json patch;
    std::string path;
  };
  const Json no_name = Json::array({{{"image", "x"}}});
  const Json no_engine = Json::array({{{"name", "engine"}, {"$patch", "delete"}}});
  for (const Row& row : {Row{{{"metadata", {{"labels", {{"inference-operator.dev/name", "x"}}}}}},
                             "spec.podTemplate.metadata.labels.inference-operator.dev/name"},
                         Row{{{"spec", {{"containers", no_name}}}}, "spec.podTemplate.spec.containers[0].name"},
                         Row{{{"spec", {{"containers", no_engine}}}}, "spec.podTemplate.spec.containers[0]"},
                         Row{{{"specs", Json::object()}}, "spec.podTemplate.specs"},
                         Row{{{"spec", {{"containers", "x"}}}}, "spec.podTemplate.spec.containers"},
                         Row{{{"spec", {{"bogusField", 1}}}}, "spec.podTemplate.spec.bogusField"},
                         Row{{{"spec", {{"volumes", "foo"}}}}, "spec.podTemplate.spec.volumes"},
                         Row{{{"spec", {{"terminationGracePeriodSeconds", "abc"}}}},
                             "spec.podTemplate.spec.terminationGracePeriodSeconds"},
                         Row{{{"spec", {{"priority", 1.5}}}}, "spec.podTemplate.spec.priority"},
                         Row{{{"spec", {{"$retainKeys", {"a"}}}}}, "spec.podTemplate.spec.$retainKeys"}}) {
    Findings findings;
    check_pod_template(
        {.value = row.patch, .level = Level::kSpec, .path = "spec.podTemplate", .said = "requested", .source = {}},
        crd::UnknownFields::kRefuse, findings);
    ASSERT_EQ(findings.faults.size(), 1U) << row.path;
    EXPECT_EQ(findings.faults.front().error.path, row.path);
  }
}

const Json kEngine = {{"name", "engine"}, {"resources", {{"limits", {{"cpu", "8"}, {"memory", "64Gi"}}}}}};

TEST(PodTemplate, KeepsThePodGuaranteed) {
  const auto check = [](const Json& resources) {
    Json pod = {{"spec",
                 {{"terminationGracePeriodSeconds", 900},
                  {"containers", {kEngine, {{"name", "side"}, {"resources", resources}}}}}}};
    Findings findings;
    check_merged_pod(pod, 900, findings);
    return findings;
  };
  EXPECT_TRUE(check({{"limits", {{"cpu", "500m"}, {"memory", "1Gi"}}}}).faults.empty());
  struct Pair {
    Json limit, request;
  };
  for (const Pair& cpu : {Pair{1, "1000m"}, Pair{"0.5", 0.5}, Pair{0.5, "500m"}, Pair{2.0, 2}, Pair{"1e-1", 0.1}}) {
    EXPECT_TRUE(check({{"limits", {{"cpu", cpu.limit}, {"memory", "1Gi"}}},
                       {"requests", {{"cpu", cpu.request}, {"memory", "1024Mi"}}}})
                    .faults.empty())
        << cpu.limit << " and " << cpu.request;
  }
  for (const Json& resources :
       {Json::object(), Json{{"limits", {{"cpu", "1"}}}}, Json{{"requests", {{"cpu", "1"}, {"memory", "1Gi"}}}},
        Json{{"limits", {{"cpu", "2"}, {"memory", "1Gi"}}}, {"requests", {{"cpu", "1"}}}}}) {
    EXPECT_TRUE(refuses(check(resources), "InvalidSpec", "spec.podTemplate.spec.containers[name=side].resources"))
        << resources;
  }
}

TEST(PodTemplate, RefusesToBeLeftWithoutAnEngine) {
  for (const Json& pod : {Json::object(), Json{{"spec", Json::object()}}, Json{{"spec", {{"containers", "x"}}}},
                          Json{{"spec", {{"initContainers", {kEngine}}}}}}) {
    Findings findings;
    check_merged_pod(pod, 900, findings);
    EXPECT_TRUE(refuses(findings, "InvalidSpec", "spec.podTemplate.spec.containers")) << pod;
  }
}

TEST(PodTemplate, SurvivesEveryShape) {
  // A podTemplate is schemaless: anything may stand anywhere.
  const std::vector<Json> shapes{
      nullptr,          true, 1, "x", Json::array(), Json::array({1}), Json::object(), Json{{"$patch", "delete"}},
      Json{{"name", 1}}};
  const Json rendered = {{"metadata", {{"labels", {{"a", "b"}}}}},
                         {"spec", {{"containers", {kEngine}}, {"tolerations", {{{"key", "gpu"}}}}}}};
  for (const char* pointer : {"/metadata", "/metadata/labels", "/spec", "/spec/containers", "/spec/initContainers",
                              "/spec/tolerations", "/spec/containers/0", "/spec/containers/0/resources",
                              "/spec/containers/0/resources/limits", "/spec/containers/0/env",
                              "/spec/containers/0/env/0", "/spec/terminationGracePeriodSeconds", "/spec/hostNetwork"}) {
    for (const Json& shape : shapes) {
      Json patch = {{"metadata", Json::object()}, {"spec", {{"containers", {{{"name", "engine"}}}}}}};
      patch[Json::json_pointer(pointer)] = shape;
      Findings findings;
      check_pod_template(
          {.value = patch, .level = Level::kSpec, .path = "spec.podTemplate", .said = "requested", .source = {}},
          crd::UnknownFields::kRefuse, findings);
      if (!findings.faults.empty()) continue;
      Json pod = rendered;
      merge_pod_template(pod, patch);
      merge_pod_template(pod, patch);
      check_merged_pod(pod, 900, findings);
    }
  }
}

TEST(PodTemplate, SaysWhenTheGracePeriodIsCut) {
  Findings findings;
  check_merged_pod({{"spec", {{"terminationGracePeriodSeconds", 30}, {"containers", {kEngine}}}}}, 900, findings);
  EXPECT_TRUE(says(findings, "ShortGracePeriod"));
}

}  // namespace
}  // namespace inference::render
