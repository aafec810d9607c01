#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "render/traced.h"

namespace inference::render {

/// One environment variable of the engine's container.
struct EnvironmentEntry {
  std::string name;
  Json source;  // {"value": …} or {"valueFrom": …}
  Reason reason;
};

[[nodiscard]] inline EnvironmentEntry constant_entry(std::string name, std::string value, Reason reason) {
  // Not from an initializer list, which nlohmann::json copies twice: this is called for every variable of every pod.
  Json source = Json::object();
  source.emplace("value", std::move(value));
  return {.name = std::move(name), .source = std::move(source), .reason = std::move(reason)};
}

/// Appends `entries`; one whose name is there already takes that one's place, so that no name occurs twice.
void override_environment(std::vector<EnvironmentEntry>& environment, std::vector<EnvironmentEntry> entries);

/// As the hole `env` of pod.yaml takes it.
[[nodiscard]] std::vector<HoleValue> to_holes(std::vector<EnvironmentEntry> environment);

}  // namespace inference::render
