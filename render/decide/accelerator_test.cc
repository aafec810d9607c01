// The ways of sharing a GPU: what is asked for, where, and what they exclude.

#include "render/decide/accelerator.h"

#include <gtest/gtest.h>

#include "base/source_path.h"
#include "base/yaml_reader.h"
#include "render/decide/fixtures.h"
#include "render/fixtures.h"

namespace inference::render {
namespace {

using namespace fixtures;

constexpr const char* kH100 = "NVIDIA-H100-80GB-HBM3";

struct Shared {
  const char* says;
  Json accelerator;
  std::string resource;
  Json selector;  // null: none
  std::string configuration;
  std::vector<std::string> notices = {"NodeConfiguration"};
};

TEST(Accelerator, AsksForTheResourceAndTheNodesOfEachWayOfSharing) {
  const Json sliced = std::string(kH100) + "-MIG-1g.10gb";
  const Json shared = std::string(kH100) + "-SHARED";
  for (const Shared& row : {
           Shared{"whole", Json::object(), "nvidia.com/gpu", nullptr, "", {}},
           Shared{
               "a whole product", {{"product", kH100}}, "nvidia.com/gpu", {{"nvidia.com/gpu.product", kH100}}, "", {}},
           Shared{"another vendor's", {{"resourceName", "amd.com/gpu"}}, "amd.com/gpu", nullptr, "", {}},
           Shared{"time slices",
                  {{"sharing", "TimeSlicing"}},
                  "nvidia.com/gpu",
                  {{"nvidia.com/gpu.sharing-strategy", "time-slicing"}},
                  "time-slicing",
                  {"NoIsolation", "NodeConfiguration"}},
           Shared{"time slices of a product",
                  {{"sharing", "TimeSlicing"}, {"product", kH100}},
                  "nvidia.com/gpu",
                  {{"nvidia.com/gpu.product", shared}, {"nvidia.com/gpu.sharing-strategy", "time-slicing"}},
                  "time-slicing",
                  {"NoIsolation", "NodeConfiguration"}},
           Shared{"a product with its ending written out",
                  {{"sharing", "MPS"}, {"product", shared}},
                  "nvidia.com/gpu",
                  {{"nvidia.com/gpu.product", shared}, {"nvidia.com/gpu.sharing-strategy", "mps"}},
                  "mps",
                  {"NoFaultIsolation", "NodeConfiguration"}},
           Shared{"renamed shares keep the product's name",
                  {{"sharing", "MPS"}, {"product", kH100}, {"resourceName", "nvidia.com/gpu.shared"}},
                  "nvidia.com/gpu.shared",
                  {{"nvidia.com/gpu.product", kH100}, {"nvidia.com/gpu.sharing-strategy", "mps"}},
                  "mps",
                  {"NoFaultIsolation", "NodeConfiguration"}},
           Shared{"slices, mixed",
                  {{"sharing", "MIG"}, {"mig", "1g.10gb"}, {"product", kH100}},
                  "nvidia.com/mig-1g.10gb",
                  {{"nvidia.com/mig-1g.10gb.product", sliced}},
                  "mig-mixed"},
           Shared{"slices of any product", {{"mig", "1g.10gb"}}, "nvidia.com/mig-1g.10gb", nullptr, "mig-mixed"},
           Shared{"the resource of mixed slices written out",
                  {{"mig", "1g.10gb"}, {"resourceName", "nvidia.com/mig-1g.10gb"}},
                  "nvidia.com/mig-1g.10gb",
                  nullptr,
                  "mig-mixed"},
           Shared{"a slice with the media engines",
                  {{"mig", "1g.10gb+me"}, {"product", kH100}},
                  "nvidia.com/mig-1g.10gb.me",
                  {{"nvidia.com/mig-1g.10gb.me.product", std::string(kH100) + "-MIG-1g.10gbme"}},
                  "mig-mixed"},
           Shared{"slices, single",
                  {{"sharing", "MIG"}, {"mig", "1g.10gb"}, {"product", kH100}, {"resourceName", "nvidia.com/gpu"}},
                  "nvidia.com/gpu",
                  {{"nvidia.com/gpu.product", sliced}},
                  "mig-single"},
       }) {
    SCOPED_TRACE(row.says);
    const Settings settings = settings_of({{"accelerator", row.accelerator}});
    Findings findings;
    const AcceleratorChoice choice = decide_accelerator(settings, sizing_of(settings), findings);
    EXPECT_TRUE(findings.faults.empty());
    EXPECT_EQ(choice.resource_name.value, row.resource);
    EXPECT_EQ(choice.node_selector ? choice.node_selector->value : Json(), row.selector);
    EXPECT_EQ(choice.node_configuration, row.configuration);
    std::vector<std::string> notices;
    for (const Notice& notice : findings.notices) notices.push_back(notice.reason);
    EXPECT_EQ(notices, row.notices);
    const bool nvidia = row.resource.starts_with("nvidia.com/");
    EXPECT_EQ(choice.toleration_key.value, nvidia ? "nvidia.com/gpu" : row.resource);
  }
}

TEST(Accelerator, SaysWhatTheNodesMustOffer) {
  const Settings settings = settings_of({{"accelerator", {{"sharing", "TimeSlicing"}, {"product", kH100}}}});
  Findings findings;
  (void)decide_accelerator(settings, sizing_of(settings), findings);
  ASSERT_EQ(findings.notices.size(), 2U);
  EXPECT_EQ(findings.notices[1].message,
            "its nodes need the device plugin's configuration config/gpu-sharing/time-slicing.yaml: they offer "
            "nvidia.com/gpu and carry nvidia.com/gpu.product=NVIDIA-H100-80GB-HBM3-SHARED, "
            "nvidia.com/gpu.sharing-strategy=time-slicing");
}

TEST(Accelerator, RefusesWhatTheWaysOfSharingExclude) {
  struct Row {
    const char* says;
    Json spec;
    Json defaults;  // of the profile, which the CRD's own rules do not see together with the spec
    std::string reason, path;
  };
  for (const Row& row : {
           Row{"a profile's slice, shared",
               {{"accelerator", {{"sharing", "MPS"}}}},
               {{"accelerator", {{"mig", "1g.10gb"}}}},
               "InvalidSpec",
               "spec.accelerator.mig"},
           Row{"a profile's claim without DRA",
               Json::object(),
               {{"accelerator", {{"claim", {{"memory", "40Gi"}}}}}},
               "InvalidSpec",
               "spec.accelerator.claim"},
           Row{"tensor parallelism over a profile's shares",
               {{"parallelism", {{"tensor", 2}}}},
               {{"accelerator", {{"sharing", "TimeSlicing"}}}},
               "InvalidSpec",
               "spec.accelerator"},
           Row{"a group over a profile's slices",
               {{"nodes", 2}},
               {{"accelerator", {{"sharing", "MIG"}, {"mig", "1g.10gb"}}}},
               "InvalidSpec",
               "spec.accelerator"},
           Row{"slices of no size",
               {{"accelerator", {{"sharing", "MIG"}}}},
               nullptr,
               "InvalidSpec",
               "spec.accelerator.mig"},
           Row{"one claim for several pods",
               {{"accelerator", {{"mode", "DRA"}, {"sharing", "TimeSlicing"}}}},
               nullptr,
               "NotSupported",
               "spec.accelerator.sharing"},
           Row{"MPS over slices",
               {{"accelerator", {{"sharing", "MPS"}, {"resourceName", "nvidia.com/mig-1g.10gb"}}}},
               nullptr,
               "InvalidSpec",
               "spec.accelerator.resourceName"},
           Row{"shares of another vendor",
               {{"accelerator", {{"sharing", "TimeSlicing"}, {"resourceName", "amd.com/gpu"}}}},
               nullptr,
               "InvalidSpec",
               "spec.accelerator.resourceName"},
           Row{"shares that nobody calls so",
               {{"accelerator", {{"resourceName", "nvidia.com/gpu.shared"}}}},
               nullptr,
               "InvalidSpec",
               "spec.accelerator.resourceName"},
           Row{"slices that nobody calls so",
               {{"accelerator", {{"resourceName", "nvidia.com/mig-1g.10gb"}}}},
               nullptr,
               "InvalidSpec",
               "spec.accelerator.resourceName"},
           Row{"slices of another profile",
               {{"accelerator", {{"mig", "1g.10gb"}, {"resourceName", "nvidia.com/mig-2g.20gb"}}}},
               nullptr,
               "InvalidSpec",
               "spec.accelerator.resourceName"},
           Row{"single slices of any product",
               {{"accelerator", {{"mig", "1g.10gb"}, {"resourceName", "nvidia.com/gpu"}}}},
               nullptr,
               "InvalidSpec",
               "spec.accelerator.product"},
       }) {
    SCOPED_TRACE(row.says);
    const Settings settings = settings_of(row.spec, row.defaults);
    Findings findings;
    (void)decide_accelerator(settings, sizing_of(settings), findings);
    EXPECT_EQ(findings.faults.size(), 1U);
    EXPECT_TRUE(refuses(findings, row.reason, row.path));
    EXPECT_TRUE(findings.notices.empty()) << "what is refused runs nowhere";
  }
}

TEST(Accelerator, FindsTheConfigurationThatItNames) {
  const std::string folder = source_path("config/gpu-sharing/");
  const std::string kustomization = read_file(folder + "kustomization.yaml");
  for (const auto& [sharing, strategy] :
       {std::pair{"TimeSlicing", "none"}, std::pair{"MPS", "none"}, std::pair{"MIG", "mixed"}}) {
    Json accelerator = {{"sharing", sharing}};
    if (accelerator["sharing"] == "MIG") accelerator["mig"] = "1g.10gb";
    const std::string key = accelerator_of(settings_of({{"accelerator", accelerator}})).node_configuration;
    EXPECT_NE(kustomization.find(" " + key + "=" + key + ".yaml\n"), std::string::npos) << key;
    const auto documents = read_yaml_documents(read_file(folder + key + ".yaml"));
    ASSERT_TRUE(documents.has_value() && documents->size() == 1) << key;
    const Json& configuration = documents->front().value;
    EXPECT_EQ(configuration["flags"]["migStrategy"], strategy) << key;
    EXPECT_EQ(configuration.contains("sharing") && configuration["sharing"].contains("mps"), key == "mps");
    EXPECT_EQ(configuration.contains("sharing") && configuration["sharing"].contains("timeSlicing"),
              key == "time-slicing");
  }
}

}  // namespace
}  // namespace inference::render
