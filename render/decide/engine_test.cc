// What engines are told: image, version, arguments.

#include "render/decide/engine.h"

#include <gtest/gtest.h>

#include "render/decide/fixtures.h"
#include "render/decide/model.h"
#include "render/decide/resources.h"

namespace inference::render {
namespace {

using namespace fixtures;

TEST(EngineVersion, ReadsWhatTagsSay) {
  EXPECT_EQ(parse_engine_version("0.33.0"), (EngineVersion{{0, 33, 0}}));
  EXPECT_EQ(parse_engine_version("v0.33.1-cu129"), (EngineVersion{{0, 33, 1}}));
  EXPECT_EQ(parse_engine_version("0.18.0rc1"), (EngineVersion{{0, 18, 0}}));
  EXPECT_EQ(parse_engine_version("0.18"), (EngineVersion{{0, 18, 0}}));
  for (const char* text : {"", "latest", "0.x.y-cuda12.4", "20260101", "v1", "nightly-0.18.0"})
    EXPECT_FALSE(parse_engine_version(text)) << text;
  EXPECT_LT(*parse_engine_version("0.9.2"), *parse_engine_version("0.18.0"));
}

struct Told {
  std::vector<std::string> arguments;
  std::string image;
  Findings findings;
};

Told told(const Json& spec, PodRole role = PodRole::kServer, const Json& defaults = nullptr) {
  Told result;
  const Settings settings = settings_of(spec, defaults);
  const EngineChoice engine = decide_engine(settings, knowledge(), result.findings);
  if (engine.facts == nullptr) return result;
  const Sizing sizing = decide_sizing(settings, rules(), result.findings);
  const PodResources resources = decide_resources(settings, sizing, accelerator_of(settings), rules(), result.findings);
  const ModelSource model = decide_model(settings, result.findings);
  const auto named = named_settings(settings, "m", *engine.facts, sizing, resources, model, rules());
  const auto arguments = engine_arguments(engine, role, named, settings, result.findings);
  check_user_arguments(engine, arguments, settings, result.findings);
  for (const auto& argument : arguments) result.arguments.push_back(argument.value);
  result.image = engine.image.value;
  return result;
}

bool has(const Told& told, const std::string& argument) {
  return std::ranges::find(told.arguments, argument) != told.arguments.end();
}

TEST(Engine, NamesItsImageByVersion) {
  EXPECT_EQ(told({}).image, "vllm/vllm-openai:v0.33.0");
  EXPECT_EQ(told({{"engine", {{"version", "0.18.1"}}}}).image, "vllm/vllm-openai:v0.18.1");
  EXPECT_EQ(told({{"engine", {{"name", "tensorrt-llm"}}}}).image, "nvcr.io/nvidia/tensorrt-llm/release:1.2.1");
  EXPECT_EQ(told({{"engine", {{"image", "mirror:5000/vllm:v0.20.0"}}}}).image, "mirror:5000/vllm:v0.20.0");
  EXPECT_TRUE(refuses(told({{"engine", {{"name", "generic"}}}}).findings, "InvalidSpec", "spec.engine.image"));
}

TEST(Engine, LeavesOutFlagsThatTheVersionLacks) {
  const Told old = told({{"engine", {{"image", "mirror:5000/vllm:v0.17.1"}}}});
  EXPECT_FALSE(has(old, "--shutdown-timeout"));
  EXPECT_TRUE(says(old.findings, "EngineFlagLeftOut"));
  EXPECT_TRUE(has(told({{"engine", {{"version", "0.18.0"}}}}), "--shutdown-timeout"));
  const Told group = told({{"nodes", 2}, {"engine", {{"version", "0.11.0"}}}}, PodRole::kLeader);
  EXPECT_TRUE(refuses(group.findings, "NotSupported", "spec.engine.version"));
}

TEST(Engine, TakesUnknownVersionsForTheNewestAndSaysSo) {
  for (const char* image :
       {"registry/vllm:latest", "registry/vllm", "registry:5000/vllm", "registry/vllm@sha256:0123456789abcdef"}) {
    const Told result = told({{"engine", {{"image", image}}}});
    EXPECT_TRUE(has(result, "--shutdown-timeout")) << image;
    EXPECT_TRUE(says(result.findings, "UnknownEngineVersion")) << image;
  }
  EXPECT_TRUE(says(told({{"engine", {{"version", "0.99.0"}}}}).findings, "NewerEngineVersion"));
  EXPECT_TRUE(
      says(told({{"engine", {{"image", "r/vllm:v0.20.0"}, {"version", "0.33.0"}}}}).findings, "EngineVersionMismatch"));
}

TEST(Engine, TranslatesSwitches) {
  const auto vllm = [](bool on) { return told({{"serving", {{"prefixCaching", on}, {"chunkedPrefill", on}}}}); };
  EXPECT_TRUE(has(vllm(true), "--enable-prefix-caching"));
  EXPECT_TRUE(has(vllm(false), "--no-enable-prefix-caching"));
  EXPECT_FALSE(has(told({}), "--enable-prefix-caching"));
  const auto sglang = [](bool on) {
    return told({{"engine", {{"name", "sglang"}}}, {"serving", {{"prefixCaching", on}, {"chunkedPrefill", on}}}});
  };
  EXPECT_TRUE(has(sglang(false), "--disable-radix-cache"));
  EXPECT_TRUE(has(sglang(false), "--chunked-prefill-size=-1"));
  EXPECT_FALSE(has(sglang(true), "--disable-radix-cache"));
}

TEST(Engine, RefusesWhatAnEngineCannotBeTold) {
  const Json trt = {{"name", "tensorrt-llm"}};
  EXPECT_TRUE(refuses(told({{"engine", trt}, {"serving", {{"kvCacheDtype", "fp8"}}}}).findings, "NotSupported",
                      "spec.serving.kvCacheDtype"));
  EXPECT_TRUE(refuses(told({{"engine", trt}, {"serving", {{"prefixCaching", false}}}}).findings, "NotSupported",
                      "spec.serving.prefixCaching"));
  EXPECT_TRUE(told({{"engine", trt}, {"serving", {{"prefixCaching", true}}}}).findings.faults.empty());
  EXPECT_TRUE(refuses(told({{"engine", trt}, {"nodes", 2}}, PodRole::kLeader).findings, "NotSupported", "spec.nodes"));
  EXPECT_EQ(told({{"engine", trt}}).arguments.front(), "/models/m") << "the model is its positional argument";
}

TEST(Engine, AppendsUserArgumentsLastAndSaysWhatTheyRepeat) {
  const Told result =
      told({{"engine", {{"args", {"--max_num_seqs=7", "--seed", "1", "--swap-space", "4", "--disable-log-stats"}}}},
            {"serving", {{"maxNumSeqs", 64}}}});
  EXPECT_EQ(result.arguments.back(), "--disable-log-stats");
  EXPECT_TRUE(has(result, "--max-num-seqs"));
  EXPECT_TRUE(says(result.findings, "EngineArgumentRepeated"));
  EXPECT_TRUE(says(result.findings, "RemovedEngineFlag"));
  EXPECT_TRUE(says(result.findings, "DrainIsBlind"));
  EXPECT_FALSE(says(told({{"engine", {{"args", {"--seed", "1"}}}}}).findings, "EngineArgumentRepeated"));
}

TEST(Engine, KeepsHugeNumbersAsTheyAre) {
  EXPECT_TRUE(has(told({{"serving", {{"maxModelLen", 2147483648}}}}), "2147483648"));
}

TEST(Engine, TellsWorkersNothingOfHttp) {
  const Json spec = {{"nodes", 2}, {"parallelism", {{"tensor", 8}}}};
  const Told worker = told(spec, PodRole::kWorker);
  EXPECT_TRUE(has(worker, "--headless"));
  EXPECT_FALSE(has(worker, "--port"));
  EXPECT_FALSE(has(worker, "--shutdown-timeout"));
  EXPECT_FALSE(has(told(spec, PodRole::kLeader), "--headless"));
  EXPECT_FALSE(has(told({}), "--nnodes"));
}

}  // namespace
}  // namespace inference::render
