#include "crd/decode.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/source_path.h"
#include "crd/rules.h"
#include "crd/verdict_cases.h"

namespace inference::crd {
namespace {

const std::vector<VerdictCase>& cases() {
  static const std::vector<VerdictCase> all = read_verdict_cases(source_path("crd/verdict_cases.yaml"));
  return all;
}

FieldErrors faults(const Json& object) {
  if (object.value("kind", "") == kInferenceProfileKind) {
    const auto decoded = decode_inference_profile(object, Source::kFile);
    return decoded ? FieldErrors() : decoded.error();
  }
  const auto decoded = decode_inference_deployment(object, Source::kFile);
  return decoded ? FieldErrors() : decoded.error();
}

const VerdictCase& named(const std::string& name) {
  return *std::ranges::find(cases(), name, &VerdictCase::name);
}

TEST(Decode, NamesEveryFaultOfTheVerdictCasesAndNoOther) {
  std::set<std::string> names;
  for (const VerdictCase& each : cases()) {
    EXPECT_TRUE(names.insert(each.name).second) << "two cases are called: " << each.name;
    std::vector<std::string> paths;
    std::string text;
    for (const FieldError& error : faults(each.object)) {
      paths.push_back(error.path);
      text += to_string(error) + "\n";
    }
    std::ranges::sort(paths);
    EXPECT_EQ(paths, each.at) << each.name << "\n" << text;
  }
}

TEST(Decode, HasAVerdictCaseForEachRule) {
  std::set<std::string> messages;
  for (const VerdictCase& each : cases()) {
    for (const FieldError& error : faults(each.object)) messages.insert(error.message);
  }
  for (const Rule& rule : rules()) EXPECT_TRUE(messages.contains(std::string(rule.message))) << rule.message;
}

TEST(Decode, LeavesTheStatusOfALivingObjectToWhoWroteIt) {
  EXPECT_TRUE(decode_inference_deployment(named("the status has an unknown field").object).has_value());
  EXPECT_TRUE(decode_inference_profile(named("a profile has a status").object).has_value());
}

TEST(Decode, SuggestsTheFieldAndTheValueThatWereMeant) {
  const auto message = [](const Json& spec) {
    Json object = named("the base").object;
    object.merge_patch({{"spec", spec}});
    return faults(object).at(0).message;
  };
  EXPECT_EQ(message({{"replcas", 3}}), "unknown field; did you mean replicas?");
  EXPECT_EQ(message({{"serving", {{"maxModelLength", 1}}}}), "unknown field; did you mean maxModelLen?");
  EXPECT_EQ(message({{"zzzzzzzzzz", 3}}), "unknown field");
  EXPECT_TRUE(message({{"engine", {{"name", "vlm"}}}}).ends_with(", not \"vlm\"; did you mean vllm?"));
}

TEST(Decode, FillsEveryFieldOfTheSpec) {
  const auto decoded = decode_inference_deployment(named("everything at once").object);
  ASSERT_TRUE(decoded.has_value());
  const InferenceDeploymentSpec& spec = decoded->spec;
  EXPECT_EQ(spec.model.uri, "file:///var/models/llama");
  EXPECT_EQ(spec.model.revision, "main");
  EXPECT_EQ(spec.model.served_name, "llama");
  EXPECT_EQ(spec.parallelism.tensor, 8);
  EXPECT_EQ(spec.parallelism.pipeline, 2);
  EXPECT_EQ(spec.nodes, 2);
  EXPECT_EQ(spec.replicas, 3);
  EXPECT_EQ(spec.profile_ref, "h100");
  EXPECT_EQ(spec.profile_policy, ProfilePolicy::kFollow);
  EXPECT_EQ(spec.engine.name, "sglang");
  EXPECT_EQ(spec.engine.image, "registry:5000/a/b:c@sha256:0123");
  EXPECT_EQ(spec.engine.version, "0.5.23.post1");
  EXPECT_EQ(spec.engine.args, (std::vector<std::string>{"--seed", "1"}));
  ASSERT_EQ(spec.engine.env.value().size(), 1U);
  EXPECT_EQ(spec.engine.env->at(0).name, "A");
  EXPECT_EQ(spec.engine.env->at(0).source, Json({{"value", "a"}}));
  EXPECT_EQ(spec.serving.max_model_len, 8192);
  EXPECT_EQ(spec.serving.max_num_seqs, 160);
  EXPECT_EQ(spec.serving.max_num_batched_tokens, 2048);
  EXPECT_EQ(spec.serving.gpu_memory_utilization, "0.90");
  EXPECT_EQ(spec.serving.kv_cache_dtype, "fp8");
  EXPECT_EQ(spec.serving.prefix_caching, true);
  EXPECT_EQ(spec.serving.chunked_prefill, false);
  EXPECT_EQ(spec.suspend, false);
  EXPECT_EQ(spec.gateway.value().endpoint_picker, "epp");
  EXPECT_FALSE(spec.autoscaling.has_value());
  EXPECT_EQ(decoded->spec_json, named("everything at once").object.at("spec"));
}

TEST(Decode, FillsEveryFieldThatProfilesShare) {
  const auto decoded = decode_inference_deployment(named("everything at once").object);
  ASSERT_TRUE(decoded.has_value());
  const InferenceDeploymentSpec& spec = decoded->spec;
  EXPECT_EQ(spec.accelerator.product, "NVIDIA-H100-80GB-HBM3");
  EXPECT_EQ(spec.accelerator.resource_name, "nvidia.com/gpu");
  EXPECT_EQ(spec.accelerator.mode, AcceleratorMode::kDevicePlugin);
  EXPECT_EQ(spec.accelerator.sharing, Sharing::kNone);
  EXPECT_EQ(spec.accelerator.tolerations.value().at(0).at("tolerationSeconds"), 60);
  EXPECT_EQ(spec.resources.cpu, 64);
  EXPECT_EQ(spec.resources.memory, "512Gi");
  EXPECT_EQ(spec.resources.shared_memory, "16Gi");
  EXPECT_EQ(spec.resources.threads, 16);
  EXPECT_EQ(spec.network.rdma.value().resource_name, "rdma/hca_shared_devices_a");
  EXPECT_EQ(spec.network.rdma->count, 1);
  EXPECT_EQ(spec.network.interfaces, (std::vector<std::string>{"eth0", "eth1.100"}));
  EXPECT_EQ(spec.network.env.value().at(0).name, "B");
  EXPECT_EQ(spec.cache.mode, CacheMode::kNone);
  EXPECT_EQ(spec.cache.root, "/var/cache/models");
  EXPECT_EQ(spec.startup.timeout_seconds, 1200);
  EXPECT_EQ(spec.drain.timeout_seconds, 885);
  EXPECT_EQ(spec.rollout.max_surge, IntOrPercent(std::int64_t{1}));
  EXPECT_EQ(spec.rollout.max_unavailable, IntOrPercent(std::int64_t{0}));
  EXPECT_EQ(spec.rollout.progress_deadline_seconds, 3600);
  EXPECT_EQ(spec.scheduling.gang, Gang::kNative);
  EXPECT_EQ(spec.scheduling.queue, "team-a");
  EXPECT_EQ(spec.scheduling.priority_class_name, "high");
  EXPECT_EQ(spec.scheduling.topology_key, "topology.kubernetes.io/rack");
  EXPECT_EQ(spec.topology_check, TopologyCheck::kOff);
  EXPECT_EQ(spec.disruption.max_unavailable, 2);
  EXPECT_EQ(spec.pod_template, Json::parse(R"({"spec": {"hostNetwork": true}})"));
}

TEST(Decode, FillsWhatOnlyOtherCasesHave) {
  const auto claim =
      decode_inference_deployment(named("a claim with DRA").object).value().spec.accelerator.claim.value();
  EXPECT_EQ(claim.first.device_class_name, "gpu.nvidia.com");
  EXPECT_EQ(claim.first.memory, "40Gi");
  EXPECT_EQ(claim.first.selectors.value().size(), 1U);
  EXPECT_EQ(claim.match_attribute, "resource.kubernetes.io/pcieRoot");
  ASSERT_EQ(claim.alternatives.value().size(), 2U);
  EXPECT_EQ(claim.alternatives->at(0).product, "NVIDIA-L40S");
  EXPECT_EQ(claim.alternatives->at(1).device_class_name, "mig.nvidia.com");
  EXPECT_EQ(claim.alternatives->at(1).memory, "20G");
  EXPECT_EQ(claim.alternatives->at(1).selectors.value().size(), 1U);
  EXPECT_EQ(claim.tolerations.value().at(0).at("key"), "gpu.nvidia.com/unhealthy");
  const auto scaled =
      decode_inference_deployment(named("autoscaling instead of replicas").object).value().spec.autoscaling.value();
  EXPECT_EQ(scaled.min_replicas, 4);
  EXPECT_EQ(scaled.max_replicas, 4);
  EXPECT_EQ(decode_inference_deployment(named("MIG with its sharing").object).value().spec.accelerator.mig, "1g.10gb");
  EXPECT_EQ(decode_inference_deployment(named("percentages").object).value().spec.rollout.max_surge,
            IntOrPercent("25%"));
  EXPECT_EQ(decode_inference_deployment(named("a float that is an integer").object).value().spec.parallelism.tensor, 8);
}

TEST(Decode, LeavesAbsentWhatIsAbsent) {
  const auto decoded = decode_inference_deployment(named("the least that there can be").object);
  ASSERT_TRUE(decoded.has_value());
  EXPECT_FALSE(decoded->spec.parallelism.tensor.has_value());
  EXPECT_FALSE(decoded->spec.replicas.has_value());
  EXPECT_FALSE(decoded->spec.network.rdma.has_value());
  EXPECT_TRUE(decoded->spec.pod_template.is_null());
}

TEST(Decode, TakesNullForAbsentAsTheServerDoes) {
  const auto decoded = decode_inference_deployment(named("null is as good as absent").object);
  ASSERT_TRUE(decoded.has_value());
  // The API server stored this for the same object.
  EXPECT_EQ(decoded->spec_json,
            Json::parse(R"({"model": {"uri": "s3://b/m"}, "parallelism": {}, "replicas": 1, "rollout": {},
      "engine": {"env": [{"name": "A", "value": "a"}]}, "podTemplate": {"metadata": {"labels": {}}, "spec": {"a": null}}})"));
  EXPECT_EQ(decoded->spec.engine.env.value().at(0).source, Json({{"value", "a"}}));
}

TEST(Decode, ReadsTheMetadataThatTheServerWrites) {
  Json object = named("the base").object;
  object["metadata"].update({{"uid", "u-1"},
                             {"resourceVersion", "7"},
                             {"generation", 3},
                             {"creationTimestamp", nullptr},
                             {"deletionTimestamp", "2026-11-30T12:00:00Z"},
                             {"managedFields", Json::array()},
                             {"finalizers", {"a"}}});
  object["status"] = {{"whatever", 1}};
  const auto decoded = decode_inference_deployment(object);
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->metadata.name, "m");
  EXPECT_EQ(decoded->metadata.ns, "default");
  EXPECT_EQ(decoded->metadata.uid, "u-1");
  EXPECT_EQ(decoded->metadata.resource_version, "7");
  EXPECT_EQ(decoded->metadata.generation, 3);
  EXPECT_TRUE(decoded->metadata.deleting);
}

TEST(Decode, ReadsAProfile) {
  const auto profile = decode_inference_profile(named("a profile with all that it may have").object);
  ASSERT_TRUE(profile.has_value());
  EXPECT_FALSE(profile->is_default);
  EXPECT_EQ(profile->defaults.engine.name, "sglang");
  EXPECT_EQ(profile->defaults_json.at("resources").at("cpu"), 64);
  EXPECT_TRUE(decode_inference_profile(named("the default profile").object).value().is_default);
  EXPECT_EQ(decode_inference_profile(named("a profile with nothing").object).value().defaults_json, Json::object());
}

TEST(Decode, RefusesAnotherKindOrVersion) {
  Json object = named("the base").object;
  object["kind"] = "InferenceProfile";
  object["apiVersion"] = "inference-operator.dev/v1";
  EXPECT_EQ(decode_inference_deployment(object).error(),
            (FieldErrors{{"apiVersion", "must be inference-operator.dev/v1alpha1"},
                         {"kind", "must be InferenceDeployment"}}));
  for (const Json& other : {Json(), Json(1), Json("text"), Json::array(), Json::object()}) {
    EXPECT_FALSE(decode_inference_deployment(other).has_value());
    EXPECT_FALSE(decode_inference_profile(other).has_value());
    EXPECT_FALSE(decode_spec(other).has_value());
  }
}

TEST(Decode, JudgesAMergedSpecByTheSameRules) {
  const Json spec =
      Json::parse(R"({"model": {"uri": "s3://b/m"}, "rollout": {"maxSurge": 0, "maxUnavailable": 0}, "nodes": "2"})");
  const auto decoded = decode_spec(spec);
  ASSERT_FALSE(decoded.has_value());
  EXPECT_EQ(decoded.error(),
            (FieldErrors{{"spec.nodes", R"(must be an integer, not the string "2")"},
                         {"spec.rollout.maxUnavailable", "maxSurge and maxUnavailable can't both be 0"}}));
}

// Whatever stands where, it is a verdict and never an exception: the rules and readers meet every type in every place.
TEST(Decode, SurvivesEveryTypeInEveryPlace) {
  const Json good = named("everything at once").object;
  const std::vector<Json> intruders = {nullptr,
                                       true,
                                       -1,
                                       1e308,
                                       std::numeric_limits<std::uint64_t>::max(),
                                       "",
                                       "\xff\x00",
                                       Json::array({Json()}),
                                       Json::object({{"name", 1}})};
  std::set<std::string> places;
  const Json flat = good.flatten();
  for (const auto& [leaf, value] : flat.items()) {
    for (Json::json_pointer place(leaf); !place.empty(); place.pop_back()) places.insert(place.to_string());
  }
  std::size_t refused = 0;
  for (const std::string& place : places) {
    for (const Json& intruder : intruders) {
      Json object = good;
      object[Json::json_pointer(place)] = intruder;
      if (!decode_inference_deployment(object)) ++refused;
    }
  }
  EXPECT_GT(refused, places.size() * 5);
}

TEST(Decode, RefusesAPodTemplateTooDeepForRecursion) {
  Json deep = "leaf";
  for (int i = 0; i < 100'000; ++i) deep = Json::array({std::move(deep)});
  Json object = named("the base").object;
  object["spec"]["podTemplate"]["spec"]["a"] = std::move(deep);
  const auto decoded = decode_inference_deployment(object);
  ASSERT_FALSE(decoded.has_value());
  EXPECT_EQ(to_string(decoded.error().at(0)), "spec.podTemplate: must not be nested more than 64 levels deep");
}

}  // namespace
}  // namespace inference::crd
