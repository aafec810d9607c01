// Tables over the named rules: what is asked for, what is decided, and what is said about it.

#include <gtest/gtest.h>

#include "render/decide/drain.h"
#include "render/decide/fixtures.h"
#include "render/decide/model.h"
#include "render/decide/names.h"
#include "render/decide/network.h"
#include "render/decide/probes.h"
#include "render/decide/resources.h"
#include "render/decide/rollout.h"
#include "render/decide/support.h"

namespace inference::render {
namespace {

using namespace fixtures;

TEST(Resolve, TakesTheHighestLevelAndRemembersIt) {
  const auto built_in = settings_of({});
  EXPECT_EQ(built_in.drain_timeout.value, 300);
  EXPECT_EQ(built_in.drain_timeout.level, Level::kBuiltIn);
  EXPECT_TRUE(built_in.drain_timeout.source.starts_with("templates/defaults.yaml:"));
  const auto profile = settings_of({}, {{"drain", {{"timeoutSeconds", 600}}}});
  EXPECT_EQ(profile.drain_timeout.value, 600);
  EXPECT_EQ(profile.drain_timeout.said, "default of profile h100");
  const auto spec = settings_of({{"drain", {{"timeoutSeconds", 900}}}}, {{"drain", {{"timeoutSeconds", 600}}}});
  EXPECT_EQ(spec.drain_timeout.value, 900);
  EXPECT_EQ(spec.drain_timeout.level, Level::kSpec);
}

TEST(Resolve, ReplacesListsAndAddsUpPodTemplates) {
  const Json defaults = {{"engine", {{"args", {"--a"}}}},
                         {"podTemplate", {{"metadata", {{"annotations", {{"x", "1"}}}}}}}};
  const auto settings = settings_of(
      {{"engine", {{"args", {"--b"}}}}, {"podTemplate", {{"metadata", {{"annotations", {{"y", "2"}}}}}}}}, defaults);
  EXPECT_EQ(settings.args->value, std::vector<std::string>{"--b"});
  ASSERT_EQ(settings.pod_templates.size(), 2U);
  EXPECT_EQ(settings.pod_templates[0].level, Level::kProfile);
}

TEST(Sizing, DividesTheGpusAmongTheNodes) {
  struct Row {
    Json spec;
    std::int64_t gpus, pipeline;
  };
  for (const Row& row : {Row{Json::object(), 1, 1}, Row{{{"parallelism", {{"tensor", 8}}}}, 8, 1},
                         Row{{{"parallelism", {{"tensor", 8}}}, {"nodes", 2}}, 8, 2},
                         Row{{{"parallelism", {{"tensor", 16}, {"pipeline", 1}}}, {"nodes", 2}}, 8, 1},
                         Row{{{"parallelism", {{"tensor", 4}, {"pipeline", 2}}}}, 8, 2}}) {
    const Sizing sizing = sizing_of(settings_of(row.spec));
    EXPECT_EQ(sizing.gpus_per_pod.value, row.gpus) << row.spec;
    EXPECT_EQ(sizing.pipeline.value, row.pipeline) << row.spec;
  }
}

TEST(Sizing, AsksBackWhereTensorParallelismOverNodesWasMostLikelyMeant) {
  const auto told = [](const Json& spec) {
    Findings findings;
    (void)decide_sizing(settings_of(spec), rules(), findings);
    return findings;
  };
  const Findings meant = told({{"parallelism", {{"tensor", 16}}}, {"nodes", 2}});
  ASSERT_TRUE(says(meant, kTensorOverNodes));
  EXPECT_EQ(meant.notices[0].path, "spec.parallelism.tensor");
  EXPECT_EQ(
      meant.notices[0].message,
      "each pod asks for 16 GPUs (16 tensor × 2 pipeline / 2 nodes, since pipeline defaults to nodes); if one "
      "tensor-parallel model of 16 GPUs over 2 nodes is meant, set spec.parallelism.pipeline to 1: then a pod asks "
      "for 8");
  EXPECT_FALSE(says(told({{"parallelism", {{"tensor", 8}}}, {"nodes", 2}}), kTensorOverNodes));
  EXPECT_FALSE(says(told({{"parallelism", {{"tensor", 16}}}}), kTensorOverNodes)) << "one node: nothing was left open";
  EXPECT_FALSE(says(told({{"parallelism", {{"tensor", 16}, {"pipeline", 2}}}, {"nodes", 2}}), kTensorOverNodes));
  EXPECT_FALSE(says(told({{"parallelism", {{"tensor", 16}, {"pipeline", 1}}}, {"nodes", 2}}), kTensorOverNodes));
}

TEST(Sizing, RefusesASplitThatDoesNotComeOutEven) {
  Settings settings = settings_of({{"parallelism", {{"tensor", 8}}}});
  settings.nodes.value = 3;
  settings.pipeline = Setting<std::int64_t>{
      .value = 1, .level = Level::kSpec, .path = "spec.parallelism.pipeline", .said = "requested", .source = {}};
  Findings findings;
  EXPECT_EQ(decide_sizing(settings, rules(), findings).gpus_per_pod.value, 1);
  EXPECT_TRUE(refuses(findings, "InvalidSpec", "spec.parallelism"));
}

TEST(Sizing, SuspendsByNoReplicas) {
  EXPECT_EQ(sizing_of(settings_of({{"replicas", 3}, {"suspend", true}})).replicas.value, 0);
  EXPECT_EQ(sizing_of(settings_of({})).replicas.value, 1);
  EXPECT_EQ(sizing_of(settings_of({{"replicas", 0}})).replicas.value, 0);
}

TEST(Resources, FollowFromTheGpus) {
  struct Row {
    int tensor;
    std::int64_t cpu, threads;
    std::string memory, shared;
  };
  for (const Row& row : {Row{1, 8, 2, "64Gi", "8Gi"}, Row{2, 16, 4, "128Gi", "8Gi"}, Row{4, 32, 8, "256Gi", "8Gi"},
                         Row{8, 64, 16, "512Gi", "16Gi"}, Row{16, 128, 32, "1Ti", "32Gi"}}) {
    const Settings settings = settings_of({{"parallelism", {{"tensor", row.tensor}}}});
    Findings findings;
    const PodResources resources =
        decide_resources(settings, sizing_of(settings), accelerator_of(settings), rules(), findings);
    EXPECT_TRUE(findings.faults.empty());
    EXPECT_EQ(resources.cpu.value, row.cpu);
    EXPECT_EQ(resources.threads.value, row.threads);
    EXPECT_EQ(resources.memory.value, row.memory);
    EXPECT_EQ(resources.shared_memory.value, row.shared);
    EXPECT_EQ(resources.list.value["cpu"], std::to_string(row.cpu));
    EXPECT_EQ(resources.list.value["nvidia.com/gpu"], std::to_string(row.tensor));
    EXPECT_TRUE(resources.cpu.reason.source.starts_with("templates/defaults.yaml:"));
  }
}

TEST(Resources, TakeWhatIsAskedForInCanonicalForm) {
  const Settings settings = settings_of({{"resources", {{"cpu", 3}, {"memory", "65536Mi"}, {"sharedMemory", "1024Mi"}}},
                                         {"accelerator", {{"resourceName", "amd.com/gpu"}}}});
  Findings findings;
  const PodResources resources =
      decide_resources(settings, sizing_of(settings), accelerator_of(settings), rules(), findings);
  EXPECT_EQ(resources.memory.value, "64Gi");
  EXPECT_EQ(resources.shared_memory.value, "1Gi");
  EXPECT_EQ(resources.threads.value, 1);
  EXPECT_EQ(resources.list.value["amd.com/gpu"], "1");
}

TEST(Resources, RefuseSharedMemoryThatLeavesTheEngineNone) {
  const Settings settings = settings_of({{"resources", {{"memory", "8Gi"}}}});
  Findings findings;
  (void)decide_resources(settings, sizing_of(settings), accelerator_of(settings), rules(), findings);
  EXPECT_TRUE(refuses(findings, "InvalidSpec", "spec.resources.memory"));
}

TEST(Resources, ExplainTheSlashInAResourceName) {
  const Settings settings = settings_of({{"network", {{"rdma", {{"resourceName", "rdma/ib"}}}}}});
  Findings findings;
  const PodResources resources =
      decide_resources(settings, sizing_of(settings), accelerator_of(settings), rules(), findings);
  EXPECT_EQ(resources.list.value["rdma/ib"], "1");
  EXPECT_TRUE(std::ranges::any_of(resources.list.parts, [](const Part& part) { return part.pointer == "/rdma~1ib"; }));
}

TEST(Model, TakesFoldersAndClaims) {
  struct Row {
    std::string uri, path, host_path, claim;
  };
  for (const Row& row :
       {Row{"file:///var/cache/models/llama", "/models/llama", "/var/cache/models", ""},
        Row{"file:///mnt/llama", "/models/llama", "/mnt", ""}, Row{"pvc://models/a/b", "/models/a/b", "", "models"}}) {
    Findings findings;
    const ModelSource model = decide_model(settings_of({{"model", {{"uri", row.uri}}}}), findings);
    EXPECT_TRUE(findings.faults.empty()) << row.uri;
    EXPECT_EQ(model.path.value, row.path);
    EXPECT_EQ(model.host_path ? model.host_path->value["path"].get<std::string>() : "", row.host_path);
    EXPECT_EQ(model.claim ? model.claim->value["claimName"].get<std::string>() : "", row.claim);
  }
}

TEST(Model, RefusesWhatNeedsTheNodeCache) {
  for (const char* uri : {"hf://org/model", "s3://bucket/x", "gs://bucket/x", "https://host/x", "oci://image/x"}) {
    Findings findings;
    (void)decide_model(settings_of({{"model", {{"uri", uri}}}}), findings);
    ASSERT_TRUE(refuses(findings, "NotSupported", "spec.model.uri")) << uri;
    EXPECT_NE(findings.faults.front().error.message.find("file://"), std::string::npos) << "must say what works";
  }
  Settings root = settings_of({});
  root.model_uri->value = "file:///llama";
  Findings findings;
  (void)decide_model(root, findings);
  EXPECT_TRUE(refuses(findings, "InvalidSpec", "spec.model.uri"));
}

TEST(Names, AreBoundedByTheLongestChild) {
  Findings findings;
  const Names names = decide_names("llama-70b", 1, findings);
  EXPECT_EQ(names.service, "llama-70b-serve");
  EXPECT_NE(names.service, names.workload);
  EXPECT_EQ(names.pod_group(1), "llama-70b-1");
  (void)decide_names(std::string(57, 'a'), 1, findings);
  (void)decide_names(std::string(46, 'a'), 2, findings);
  EXPECT_TRUE(findings.faults.empty());
  (void)decide_names(std::string(58, 'a'), 1, findings);
  (void)decide_names(std::string(47, 'a'), 2, findings);
  EXPECT_EQ(findings.faults.size(), 2U);
  EXPECT_TRUE(refuses(findings, "NameTooLong", "metadata.name"));
  for (const char* name : {"1a", "a.b", "a-", "A", ""}) {
    Findings bad;
    (void)decide_names(name, 1, bad);
    EXPECT_TRUE(refuses(bad, "InvalidSpec", "metadata.name")) << name;
  }
}

TEST(Support, RefusesWhatIsNotRenderedYetByPath) {
  struct Row {
    Json spec;
    std::string path;
  };
  for (const Row& row : {Row{{{"cache", {{"mode", "Node"}}}}, "spec.cache.mode"},
                         Row{{{"autoscaling", {{"maxReplicas", 3}}}}, "spec.autoscaling"},
                         Row{{{"gateway", {{"endpointPicker", "epp"}}}}, "spec.gateway"},
                         Row{{{"scheduling", {{"topologyKey", "rack"}}}}, "spec.scheduling.topologyKey"}}) {
    Findings findings;
    check_support(settings_of(row.spec), findings);
    EXPECT_TRUE(refuses(findings, "NotSupported", row.path)) << row.path;
  }
  Findings none;
  check_support(settings_of({}), none);
  EXPECT_TRUE(none.faults.empty() && none.notices.empty());
}

TEST(Drain, IsWaitPlusDrainPlusTeardownToTheSecond) {
  const EngineFacts& vllm = knowledge().engines.at("vllm");
  const Settings settings = settings_of({{"drain", {{"timeoutSeconds", 885}}}});
  const DrainChoice server = decide_drain(settings, vllm, PodRole::kServer, rules());
  EXPECT_EQ(server.grace_period.value, 900);
  EXPECT_EQ(server.grace_period.reason.text, "5 s propagation wait + 885 s drain + 10 s teardown");
  EXPECT_EQ(decide_drain(settings_of({{"drain", {{"timeoutSeconds", 10}}}}), vllm, PodRole::kServer, rules())
                .grace_period.value,
            25);
}

TEST(Drain, LetsAWorkerOutlastItsLeader) {
  const EngineFacts& vllm = knowledge().engines.at("vllm");
  const Settings settings = settings_of({});
  const std::int64_t leader = decide_drain(settings, vllm, PodRole::kLeader, rules()).grace_period.value;
  const DrainChoice worker = decide_drain(settings, vllm, PodRole::kWorker, rules());
  EXPECT_GT(worker.grace_period.value, leader);
  const auto bound = std::ranges::find(worker.environment, "DRAIN_TIMEOUT_SECONDS", &EnvironmentEntry::name);
  ASSERT_NE(bound, worker.environment.end());
  EXPECT_EQ(bound->source["value"], std::to_string(leader));
}

TEST(Drain, TellsAWorkerThatWaitsByWhatItSeesThatItHasLoaded) {
  const EngineFacts& sglang = knowledge().engines.at("sglang");
  const DrainChoice worker = decide_drain(settings_of({}), sglang, PodRole::kWorker, rules());
  const auto port = std::ranges::find(worker.environment, "DRAIN_PORT", &EnvironmentEntry::name);
  ASSERT_NE(port, worker.environment.end());
  EXPECT_EQ(port->source["value"], std::to_string(sglang.port.value));
}

TEST(Drain, SaysWhenItIsShort) {
  Findings findings;
  check_drain(settings_of({{"drain", {{"timeoutSeconds", 10}}}}), rules(), findings);
  EXPECT_TRUE(says(findings, "ShortDrain"));
  Findings none;
  check_drain(settings_of({}), rules(), none);
  EXPECT_TRUE(none.notices.empty());
}

TEST(Probes, RoundTheStartupBudgetUp) {
  struct Row {
    int seconds;
    std::int64_t failures;
  };
  for (const Row& row : {Row{1, 1}, Row{10, 1}, Row{11, 2}, Row{600, 60}, Row{1195, 120}}) {
    const Settings settings = settings_of({{"startup", {{"timeoutSeconds", row.seconds}}}});
    EXPECT_EQ(decide_probes(settings, knowledge().engines.at("vllm"), rules()).startup.threshold.value, row.failures)
        << row.seconds;
  }
}

RolloutChoice rollout_of(const Json& spec, Findings& findings) {
  const Settings settings = settings_of(spec);
  return decide_rollout(settings, sizing_of(settings), 315, rules(), findings);
}

TEST(Rollout, GivesAHealthyReplacementItsTime) {
  Findings findings;
  EXPECT_EQ(rollout_of({{"replicas", 2}}, findings).progress_deadline.value, 315 + 300 + 600);
  EXPECT_TRUE(findings.notices.empty());
  (void)rollout_of({{"replicas", 2}, {"rollout", {{"progressDeadlineSeconds", 700}}}}, findings);
  EXPECT_TRUE(says(findings, "ShortProgressDeadline"));
  (void)rollout_of({{"replicas", 2}, {"rollout", {{"progressDeadlineSeconds", 500}}}}, findings);
  EXPECT_TRUE(refuses(findings, "InvalidSpec", "spec.rollout.progressDeadlineSeconds"));
}

TEST(Rollout, SaysThatOneReplicaMeansAnOutage) {
  Findings findings;
  const RolloutChoice choice = rollout_of({}, findings);
  EXPECT_TRUE(says(findings, "OutageOnRollout"));
  EXPECT_TRUE(says(findings, "NoDisruptionBudget"));
  EXPECT_FALSE(choice.budget_max_unavailable || choice.budget_min_available);
  Findings surge;
  (void)rollout_of({{"rollout", {{"maxSurge", 1}}}}, surge);
  EXPECT_FALSE(says(surge, "OutageOnRollout"));
}

TEST(Rollout, CountsSurgeInReplicas) {
  Findings findings;
  EXPECT_EQ(rollout_of({{"replicas", 4}, {"rollout", {{"maxSurge", 2}}}}, findings).surge_replicas, 2);
  EXPECT_EQ(rollout_of({{"replicas", 5}, {"rollout", {{"maxSurge", "25%"}}}}, findings).surge_replicas, 2);
}

TEST(Rollout, RefusesToReplaceNothingWithNothing) {
  Settings settings = settings_of({{"replicas", 2}});
  settings.max_unavailable.value = std::string("0%");
  Findings findings;
  (void)decide_rollout(settings, sizing_of(settings), 315, rules(), findings);
  EXPECT_TRUE(refuses(findings, "InvalidSpec", "spec.rollout"));
}

TEST(Budget, NeverLetsTwoGroupsLoseAPod) {
  struct Row {
    int replicas, nodes, lost;
    std::int64_t min_available;
  };
  for (const Row& row : {Row{2, 2, 1, 3}, Row{3, 4, 1, 11}, Row{3, 4, 2, 7}, Row{2, 2, 0, 4}, Row{2, 2, 5, 0}}) {
    Findings findings;
    const RolloutChoice choice = rollout_of({{"replicas", row.replicas},
                                             {"nodes", row.nodes},
                                             {"parallelism", {{"tensor", 8}}},
                                             {"disruption", {{"maxUnavailable", row.lost}}}},
                                            findings);
    ASSERT_TRUE(choice.budget_min_available);
    EXPECT_EQ(choice.budget_min_available->value, row.min_available);
    EXPECT_FALSE(choice.budget_max_unavailable);
  }
}

TEST(Network, ExcludesInterfacesOnlyWhereNodesMustReachEachOther) {
  const auto of = [](const Json& spec) {
    const Settings settings = settings_of(spec);
    Findings findings;
    return decide_network(settings, sizing_of(settings), findings);
  };
  EXPECT_TRUE(of({}).environment.empty());
  const auto several = of({{"nodes", 2}}).environment;
  ASSERT_EQ(several.size(), 1U);
  EXPECT_EQ(several[0].source["value"], "^lo,docker,veth");
  const auto named = of({{"nodes", 2}, {"network", {{"interfaces", {"eth1", "eth2"}}}}}).environment;
  ASSERT_EQ(named.size(), 2U);
  EXPECT_EQ(named[0].source["value"], "eth1,eth2");
  EXPECT_EQ(named[1].source["value"], "eth1");
  EXPECT_NE(named[1].reason.text.find("one interface"), std::string::npos);
  EXPECT_FALSE(of({{"nodes", 2}}).capabilities);
}

TEST(Network, OfTheNodeIsGivenByAProfileOnly) {
  const auto patch = [](Level level, const Json& flag) {
    return Setting<Json>{.value = {{"spec", {{"hostNetwork", flag}}}},
                         .level = level,
                         .path = "spec.podTemplate",
                         .said = "requested",
                         .source = {}};
  };
  struct Row {
    std::vector<Setting<Json>> patches;
    bool on, refused;
  };
  for (const Row& row :
       {Row{{}, false, false}, Row{{patch(Level::kSpec, true)}, true, true},
        Row{{patch(Level::kSpec, false)}, false, false}, Row{{patch(Level::kProfile, true)}, true, false},
        Row{{patch(Level::kProfile, true), patch(Level::kSpec, true)}, true, false},
        Row{{patch(Level::kProfile, true), patch(Level::kSpec, false)}, false, false},
        Row{{patch(Level::kProfile, false), patch(Level::kSpec, true)}, true, true}}) {
    Settings settings = settings_of({{"nodes", 2}});
    settings.pod_templates = row.patches;
    Findings findings;
    const auto choice = decide_network(settings, sizing_of(settings), findings);
    EXPECT_EQ(choice.dns_policy.has_value(), row.on);
    EXPECT_EQ(refuses(findings, "NotAllowed", "spec.podTemplate.spec.hostNetwork"), row.refused);
    EXPECT_EQ(findings.faults.empty(), !row.refused);
  }
}

}  // namespace
}  // namespace inference::render
