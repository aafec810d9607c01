// Where the links between a pod's GPUs are looked at.

#include "render/decide/topology.h"

#include <gtest/gtest.h>

#include "render/decide/fixtures.h"

namespace inference::render {
namespace {

using namespace fixtures;

TEST(Topology, IsLookedAtWhereGpusOfAPodShareLayers) {
  struct Row {
    const char* says;
    Json spec;
    std::vector<std::string> modes;  // of the init containers, in their order
  };
  for (const Row& row :
       {Row{"off", {{"parallelism", {{"tensor", 2}}}}, {}},
        Row{"warn", {{"topologyCheck", "Warn"}, {"parallelism", {{"tensor", 2}}}}, {"report"}},
        Row{"enforce", {{"topologyCheck", "Enforce"}, {"parallelism", {{"tensor", 2}}}}, {"report", "hold"}},
        Row{"one GPU", {{"topologyCheck", "Enforce"}}, {}},
        Row{"one GPU a stage", {{"topologyCheck", "Warn"}, {"parallelism", {{"tensor", 1}, {"pipeline", 4}}}}, {}},
        Row{"one GPU a node",
            {{"topologyCheck", "Warn"}, {"parallelism", {{"tensor", 2}, {"pipeline", 1}}}, {"nodes", 2}},
            {}},
        Row{"a stage on each node",
            {{"topologyCheck", "Warn"}, {"parallelism", {{"tensor", 2}}}, {"nodes", 2}},
            {"report"}}}) {
    Findings findings;
    const Settings settings = settings_of(row.spec);
    const Sizing sizing = sizing_of(settings);
    const PodResources resources = decide_resources(settings, sizing, accelerator_of(settings), rules(), findings);
    const auto containers = decide_topology(settings, sizing, accelerator_of(settings), resources,
                                            {.value = "engine:1", .reason = {}}, findings);
    std::vector<std::string> modes;
    for (const auto* container : {&containers.topology_check, &containers.topology_gate}) {
      if (*container) modes.push_back((*container)->values.mode.value);
    }
    EXPECT_EQ(modes, row.modes) << row.says;
    EXPECT_TRUE(findings.faults.empty()) << row.says;
    if (!containers.topology_check) continue;
    const TopologyValues& check = containers.topology_check->values;
    EXPECT_EQ(check.gpus.value, "2") << row.says;
    EXPECT_EQ(check.tensor.value, "2") << row.says;
    EXPECT_EQ(check.image.value, "engine:1");
    EXPECT_EQ(check.mode.reason.inputs, std::vector<std::string>{"spec.topologyCheck"});
    EXPECT_EQ(check.resources.value, resources.list.value) << "other requests would get other devices";
  }
}

TEST(Topology, IsRefusedOnDevicesThatNvidiaSmiDoesNotKnow) {
  Findings findings;
  const Settings settings = settings_of({{"topologyCheck", "Warn"},
                                         {"parallelism", {{"tensor", 2}}},
                                         {"accelerator", {{"resourceName", "amd.com/gpu"}}}});
  const Sizing sizing = sizing_of(settings);
  const PodResources resources = decide_resources(settings, sizing, accelerator_of(settings), rules(), findings);
  EXPECT_FALSE(
      decide_topology(settings, sizing, accelerator_of(settings), resources, {}, findings).topology_check.has_value());
  EXPECT_TRUE(refuses(findings, "NotSupported", "spec.topologyCheck"));
}

}  // namespace
}  // namespace inference::render
