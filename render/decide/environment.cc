#include "render/decide/environment.h"

#include <algorithm>

namespace inference::render {

void override_environment(std::vector<EnvironmentEntry>& environment, std::vector<EnvironmentEntry> entries) {
  environment.reserve(environment.size() + entries.size());
  for (EnvironmentEntry& entry : entries) {
    const auto present = std::ranges::find(environment, entry.name, &EnvironmentEntry::name);
    if (present == environment.end()) {
      environment.push_back(std::move(entry));
    } else {
      *present = std::move(entry);
    }
  }
}

std::vector<HoleValue> to_holes(std::vector<EnvironmentEntry> environment) {
  std::vector<HoleValue> holes;
  holes.reserve(environment.size());
  for (EnvironmentEntry& entry : environment) {
    entry.source["name"] = std::move(entry.name);
    holes.push_back({.value = std::move(entry.source), .reason = std::move(entry.reason), .parts = {}});
  }
  return holes;
}

}  // namespace inference::render
