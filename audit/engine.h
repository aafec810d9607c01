#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "audit/command_words.h"
#include "audit/workload.h"
#include "render/knowledge.h"

namespace inference::audit {

/// What a container runs, as far as its image and its command line tell.
struct Engine {
  std::string name;                            // "vllm", "sglang", "tensorrt-llm", "tgi", "triton" …; empty: unknown
  const render::EngineFacts* facts = nullptr;  // null for engines that are not rendered
  std::optional<render::EngineVersion> version;  // absent where the image's tag does not tell
  std::string version_text;                      // as the tag has it
  bool trains = false;                           // the command line is a trainer's
  std::optional<std::int64_t> tensor;            // tensor parallel size; absent where it is not known
  std::optional<std::int64_t> nodes;             // that the engine is told to span; absent where it is told nothing
  std::optional<std::int64_t> own_drain;         // seconds that it is told to drain after SIGTERM
  std::string model;                             // name, path or URI of the model; empty where it is not known
  std::string model_pointer;                     // of what names it
  Words words;                                   // the command line
  Constants constants;                           // env

  /// Whether the version is known to be at least the one that `facts` describe.
  [[nodiscard]] bool is_newest() const;
};

[[nodiscard]] Engine engine_of(const Container& container, const render::Knowledge& knowledge);

/// A variable of a container's `env`.
struct Variable {
  std::string pointer;               // of the item
  std::optional<std::string> value;  // absent where it comes from elsewhere
};

/// Nothing when `env` does not have it.
[[nodiscard]] std::optional<Variable> find_variable(const Container& container, std::string_view name);

/// Whether the container may have the variable from a ConfigMap, a Secret or its own script.
[[nodiscard]] bool may_have_variable(const Container& container, const Engine& engine, std::string_view name);

}  // namespace inference::audit
