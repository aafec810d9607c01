#pragma once

#include <optional>
#include <string>
#include <vector>

#include "render/decide/environment.h"
#include "render/decide/sizing.h"
#include "render/resolve.h"
#include "render/traced.h"

namespace inference::render {

/// What the pods of a group need to find and reach each other.
struct NetworkChoice {
  std::vector<EnvironmentEntry> environment;
  std::optional<Traced<Json>> capabilities;       // of the engine's container
  std::optional<Traced<std::string>> dns_policy;  // only where the user takes the node's network
};

[[nodiscard]] NetworkChoice decide_network(const Settings& settings, const Sizing& sizing);

}  // namespace inference::render
