#include "audit/engine.h"

#include "audit/fixtures.h"

namespace inference::audit {
namespace {

Engine engine(const Json& json) {
  const Container container{.pointer = "/spec/containers/0", .json = &json};
  return engine_of(container, render::Knowledge::embedded());
}

TEST(Engine, IsKnownByItsCommandFirstAndByItsImageElse) {
  const std::vector<std::pair<Json, std::string>> cases = {
      {{{"image", "vllm/vllm-openai"}}, "vllm"},
      {{{"image", "mirror.example.com/x/sglang:v1"}}, "sglang"},
      {{{"image", "nvcr.io/nvidia/tritonserver:25.01-vllm-python-py3"}}, "triton"},
      {{{"image", "ghcr.io/huggingface/text-generation-inference:3.0"}}, "tgi"},
      {{{"image", "corp/base"}, {"command", {"vllm", "serve", "m"}}}, "vllm"},
      {{{"image", "corp/base"}, {"command", {"python3", "-m", "vllm.entrypoints.openai.api_server"}}}, "vllm"},
      {{{"image", "vllm/vllm-openai"}, {"command", {"sh", "-c", "python -m sglang.launch_server"}}}, "sglang"},
      {{{"image", "corp/base"}, {"command", {"sleep", "infinity"}}}, ""},
      {{{"image", "vllm/vllm-openai"}, {"command", {"torchrun", "train.py"}}}, ""},
      {{{"image", "vllm/vllm-openai"}, {"command", {"sleep", "infinity"}}}, ""},
      {{{"image", "x"}, {"command", {"sh", "-c", "vllm serve m & sleep infinity"}}}, "vllm"},
  };
  for (const auto& [json, name] : cases) EXPECT_EQ(engine(json).name, name) << json;
}

TEST(Engine, HasTheVersionOfAnUpstreamTagOnly) {
  EXPECT_TRUE(engine({{"image", "vllm/vllm-openai:v0.33.0"}}).is_newest());
  EXPECT_TRUE(engine({{"image", "docker.io/vllm/vllm-openai:v0.34.1-cu129@sha256:00"}}).is_newest());
  for (const char* image :
       {"vllm/vllm-openai", "vllm/vllm-openai:latest", "vllm/vllm-openai@sha256:00", "vllm/vllm-openai:v0.8.5",
        "corp/my-vllm-fork:v0.40.0", "nvcr.io/nvidia/vllm:25.08-py3", "vllm/vllm-openai:nightly", "corp:5000/vllm"})
    EXPECT_FALSE(engine({{"image", image}}).is_newest()) << image;
}

TEST(Engine, KnowsItsParallelismWhereItCanBeKnown) {
  const auto tensor = [](const Json& json) { return engine(json).tensor; };
  EXPECT_EQ(tensor({{"image", "vllm/vllm-openai"}, {"args", {"--model", "m", "-tp", "4"}}}), 4);
  EXPECT_EQ(tensor({{"image", "vllm/vllm-openai"}, {"args", {"--model", "m"}}}), 1) << "vLLM's default";
  EXPECT_EQ(tensor({{"image", "lmsysorg/sglang"}, {"command", {"python3", "-m", "sglang.launch_server", "--tp", "2"}}}),
            2);
  EXPECT_FALSE(tensor({{"image", "vllm/vllm-openai"}, {"args", {"-tp", "$(TP)"}}}));
  EXPECT_FALSE(tensor({{"image", "vllm/vllm-openai"}})) << "no command line in sight";
  EXPECT_FALSE(tensor({{"image", "vllm/vllm-openai"}, {"command", {"/start.sh", "serve"}}}));
  EXPECT_FALSE(tensor({{"image", "vllm/vllm-openai"}, {"args", {"--config", "/etc/vllm.yaml"}}}));
  EXPECT_FALSE(tensor({{"image", "corp/base"}, {"args", {"--size", "4"}}}));
  EXPECT_EQ(tensor({{"image", "x/text-generation-inference"}, {"env", {{{"name", "NUM_SHARD"}, {"value", "2"}}}}}), 2);
}

TEST(Engine, KnowsWhichModelItServes) {
  const auto model = [](const Json& json) { return engine(json).model; };
  EXPECT_EQ(model({{"command", {"vllm", "serve", "org/model", "--port", "1"}}}), "org/model");
  EXPECT_EQ(model({{"command", {"sh", "-c", "vllm serve org/model --trust-remote-code"}}}), "org/model");
  EXPECT_EQ(model({{"command", {"python3", "-m", "vllm.entrypoints.openai.api_server", "--model=/m"}}}), "/m");
  EXPECT_EQ(model({{"image", "vllm/vllm-openai"}, {"args", {"org/model"}}}), "org/model");
  EXPECT_EQ(model({{"image", "x"}, {"env", {{{"name", "MODEL_ID"}, {"value", "org/model"}}}}}), "org/model");
  EXPECT_EQ(model({{"command", {"python3", "-m", "sglang.launch_server"}}}), "");
}

TEST(Engine, TellsATrainerFromAServer) {
  for (const Json& command : {Json{"torchrun", "--nnodes=2", "main.py"}, Json{"python3", "train_llama.py"},
                              Json{"bash", "-c", "accelerate launch x.py"}, Json{"python", "/app/finetune.py"},
                              Json{"python", "-m", "axolotl.cli.train", "config.yaml"}})
    EXPECT_TRUE(engine({{"command", command}}).trains) << command;
  EXPECT_FALSE(engine({{"command", {"python3", "server.py"}}}).trains);
  EXPECT_FALSE(engine({{"command", {"vllm", "serve", "m"}}}).trains);
}

TEST(Engine, FindsVariablesWhereverTheyComeFrom) {
  const Json json = {{"env",
                      {{{"name", "A"}, {"value", "1"}},
                       {{"name", "B"}, {"valueFrom", {{"fieldRef", {{"fieldPath", "status.podIP"}}}}}},
                       {{"name", "C"}},
                       {{"name", "A"}, {"value", "2"}}}},
                     {"command", {"sh", "-c", "export D=4; run"}}};
  const Container container{.pointer = "/c", .json = &json};
  EXPECT_EQ(find_variable(container, "A")->value, "2");
  EXPECT_EQ(find_variable(container, "A")->pointer, "/c/env/3");
  EXPECT_FALSE(find_variable(container, "B")->value);
  EXPECT_EQ(find_variable(container, "C")->value, "");
  EXPECT_FALSE(find_variable(container, "D"));
  const Engine known = engine(json);
  EXPECT_TRUE(may_have_variable(container, known, "D"));
  EXPECT_FALSE(may_have_variable(container, known, "E"));
  Json more = json;
  more["envFrom"] = Json::array({{{"configMapRef", {{"name", "x"}}}}});
  EXPECT_TRUE(may_have_variable({.pointer = "/c", .json = &more}, known, "E"));
}

}  // namespace
}  // namespace inference::audit
