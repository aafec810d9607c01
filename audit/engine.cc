#include "audit/engine.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/json_members.h"
#include "base/parse_integer.h"

namespace inference::audit {
namespace {

/// An image by a part of its repository's name. The more special name comes first.
struct ImageName {
  std::string_view part;
  std::string_view engine;
};
constexpr std::array kImages = {
    ImageName{"tensorrt-llm", "tensorrt-llm"},
    ImageName{"tensorrtllm", "tensorrt-llm"},
    ImageName{"trtllm", "tensorrt-llm"},
    ImageName{"sglang", "sglang"},
    ImageName{"vllm", "vllm"},
    ImageName{"text-generation-inference", "tgi"},
    ImageName{"text-embeddings-inference", "tei"},
    ImageName{"tritonserver", "triton"},
    ImageName{"lmdeploy", "lmdeploy"},
    ImageName{"djl-serving", "djl"},
    ImageName{"ollama", "ollama"},
    ImageName{"llama.cpp", "llama.cpp"},
    ImageName{"llama-cpp", "llama.cpp"},
    ImageName{"nvcr.io/nim/", "nim"},
};

/// Images as their makers tag them: the tag is the engine's version. A private image's tag may count anything else.
constexpr std::array<std::string_view, 5> kVersionedImages = {"vllm-openai", "vllm", "sglang", "tensorrt-llm/release",
                                                              "vllm-openai-rocm"};

std::string engine_by_command(const Words& words) {
  if (calls(words, {"vllm", "serve"}) || calls(words, {"-m", "vllm.entrypoints.openai.api_server"}) ||
      calls(words, {"-m", "vllm.entrypoints.api_server"}))
    return "vllm";
  if (calls(words, {"-m", "sglang.launch_server"}) || calls(words, {"sglang", "serve"})) return "sglang";
  if (calls(words, {"trtllm-serve"})) return "tensorrt-llm";
  if (calls(words, {"text-generation-launcher"})) return "tgi";
  if (calls(words, {"tritonserver"})) return "triton";
  if (calls(words, {"lmdeploy", "serve"})) return "lmdeploy";
  if (calls(words, {"llama-server"})) return "llama.cpp";
  return {};
}

bool is_trainer(const Words& words) {
  static constexpr std::array kLaunchers = {"torchrun",   "accelerate", "deepspeed",
                                            "horovodrun", "axolotl",    "llamafactory-cli"};
  if (std::ranges::any_of(kLaunchers, [&](const char* launcher) { return calls(words, {launcher}); })) return true;
  if (calls(words, {"-m", "torch.distributed.run"}) || calls(words, {"-m", "torch.distributed.launch"})) return true;
  return std::ranges::any_of(words, [](const Word& word) {
    if (word.text.ends_with(".train")) return true;  // a module after -m
    const std::size_t slash = word.text.rfind('/');
    const std::string_view file = std::string_view(word.text).substr(slash == std::string::npos ? 0 : slash + 1);
    return file.ends_with(".py") && (file.starts_with("train") || file.find("finetune") != std::string_view::npos ||
                                     file.find("_train") != std::string_view::npos);
  });
}

/// A container that people log into, whatever its image could serve.
bool idles(const Words& words) {
  return calls(words, {"sleep", "infinity"}) || calls(words, {"sleep", "inf"}) ||
         calls(words, {"tail", "-f", "/dev/null"});
}

/// An image's name in its parts: REPOSITORY:TAG@DIGEST.
struct Image {
  std::string repository;
  std::string tag;
};

Image image_of(const Container& container) {
  std::string text = text_at(*container.json, "image");
  text.resize(std::min(text.find('@'), text.size()));
  const std::size_t slash = text.rfind('/');
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || (slash != std::string::npos && colon < slash))
    return {.repository = text, .tag = ""};
  return {.repository = text.substr(0, colon), .tag = text.substr(colon + 1)};
}

std::string engine_by_image(const std::string& repository) {
  const auto found = std::ranges::find_if(
      kImages, [&](const ImageName& image) { return repository.find(image.part) != std::string::npos; });
  return found == kImages.end() ? std::string() : std::string(found->engine);
}

void read_version(Engine& engine, const Image& image) {
  const bool versioned = std::ranges::any_of(kVersionedImages, [&](std::string_view name) {
    return image.repository == name || image.repository.ends_with("/" + std::string(name));
  });
  if (!versioned || engine.facts == nullptr || !engine.facts->newest) return;
  const auto version = render::parse_engine_version(image.tag);
  // Another major number is a date, or a count of its own.
  if (!version || version->parts[0] != engine.facts->newest->parts[0]) return;
  engine.version = version;
  engine.version_text = image.tag;
}

/// What follows a command in its own words: the positional argument, if it is none of the flags.
std::optional<Word> word_after(const Words& words, std::initializer_list<std::string_view> command) {
  const std::vector<std::string_view> wanted(command);
  for (std::size_t i = 0; i + wanted.size() < words.size(); ++i) {
    bool all = true;
    for (std::size_t k = 0; k < wanted.size() && all; ++k)
      all = words[i + k].text == wanted[k] || words[i + k].text.ends_with("/" + std::string(wanted[k]));
    const Word& next = words[i + wanted.size()];
    if (all && !next.text.starts_with('-') && next.text != "\n") return next;
  }
  return std::nullopt;
}

void read_model(Engine& engine, const Container& container) {
  const auto flag = find_flag(engine.words, {"--model", "--model-path", "--model-id", "-m"});
  // `python3 -m module` names no model.
  if (flag && !(flag->name == "-m" && engine.name != "llama.cpp")) {
    engine.model = flag->value;
    engine.model_pointer = flag->pointer;
    return;
  }
  auto positional = word_after(engine.words, {"vllm", "serve"});
  if (!positional) positional = word_after(engine.words, {"trtllm-serve"});
  // The images' own entrypoint is the command then.
  const bool bare = !member(*container.json, "command").is_array() && !engine.words.empty();
  if (!positional && bare && engine.name == "vllm" && !engine.words.front().text.starts_with('-'))
    positional = engine.words.front();
  if (positional) {
    engine.model = positional->text;
    engine.model_pointer = positional->pointer;
    return;
  }
  for (const char* name : {"MODEL_ID", "HF_MODEL_ID", "MODEL_NAME", "MODEL", "MODEL_PATH"}) {
    const auto variable = find_variable(container, name);
    if (!variable || !variable->value) continue;
    engine.model = *variable->value;
    engine.model_pointer = variable->pointer + "/value";
    return;
  }
}

/// Whether the engine's whole command line is in sight: neither a file of options nor a script of the image.
bool shows_its_flags(const Engine& engine) {
  if (engine.name.empty() || engine.words.empty()) return false;
  if (find_flag(engine.words, {"--config", "--config-file", "--extra-llm-api-options"})) return false;
  const bool called = !engine_by_command(engine.words).empty();
  const bool only_flags =
      engine.words.front().text.starts_with('-') || engine.words.size() == 1 || engine.words[1].text.starts_with('-');
  return called || only_flags;
}

void read_flags(Engine& engine) {
  const Words& words = engine.words;
  engine.tensor = number_of_flag(words, {"--tensor-parallel-size", "-tp", "--tp-size", "--tp", "--num-shard"});
  const bool named =
      find_flag(words, {"--tensor-parallel-size", "-tp", "--tp-size", "--tp", "--num-shard"}).has_value();
  const bool one_by_default = engine.name == "vllm" || engine.name == "sglang" || engine.name == "tensorrt-llm";
  if (!named && one_by_default && shows_its_flags(engine)) engine.tensor = 1;
  const auto shards = engine.constants.find("NUM_SHARD");
  if (!named && engine.name == "tgi" && shards != engine.constants.end())
    engine.tensor = parse_integer<std::int64_t>(shards->second);
  engine.nodes = number_of_flag(words, {"--nnodes", "--num-machines"});
  if (engine.name == "vllm") engine.own_drain = number_of_flag(words, {"--shutdown-timeout"});
}

}  // namespace

bool Engine::is_newest() const {
  return version && facts != nullptr && facts->newest && *version >= *facts->newest;
}

std::optional<Variable> find_variable(const Container& container, std::string_view name) {
  const Json& env = member(*container.json, "env");
  if (!env.is_array()) return std::nullopt;
  for (std::size_t i = env.size(); i-- > 0;) {  // of two with one name the last one counts
    if (text_at(env[i], "name") != name) continue;
    Variable variable{.pointer = container.pointer + "/env/" + std::to_string(i), .value = std::nullopt};
    const Json& value = member(env[i], "value");
    if (value.is_string()) {
      variable.value = value.get<std::string>();
    } else if (!member(env[i], "valueFrom").is_object()) {
      variable.value = "";
    }
    return variable;
  }
  return std::nullopt;
}

bool may_have_variable(const Container& container, const Engine& engine, std::string_view name) {
  const Json& sources = member(*container.json, "envFrom");
  if (sources.is_array() && !sources.empty()) return true;
  const std::string assignment = std::string(name) + "=";
  return std::ranges::any_of(engine.words, [&](const Word& word) { return word.text.starts_with(assignment); });
}

Engine engine_of(const Container& container, const render::Knowledge& knowledge) {
  Engine engine;
  const Json& env = member(*container.json, "env");
  if (env.is_array()) {
    for (const Json& item : env) {
      if (member(item, "value").is_string()) engine.constants[text_at(item, "name")] = text_at(item, "value");
    }
  }
  engine.words = command_words(*container.json, container.pointer, engine.constants);
  const Image image = image_of(container);
  engine.name = engine_by_command(engine.words);
  engine.trains = engine.name.empty() && is_trainer(engine.words);
  if (engine.name.empty() && !engine.trains && !idles(engine.words)) engine.name = engine_by_image(image.repository);
  const auto facts = knowledge.engines.find(engine.name);
  engine.facts = facts == knowledge.engines.end() ? nullptr : &facts->second;
  read_version(engine, image);
  read_model(engine, container);
  read_flags(engine);
  return engine;
}

}  // namespace inference::audit
