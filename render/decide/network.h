#pragma once

#include <optional>
#include <string>
#include <vector>

#include "render/decide/environment.h"
#include "render/decide/sizing.h"
#include "render/findings.h"
#include "render/resolve.h"
#include "render/traced.h"

namespace inference::render {

/// What the pods of a group need to find and reach each other.
struct NetworkChoice {
  std::vector<EnvironmentEntry> environment;
  std::optional<Traced<Json>> capabilities;       // of the engine's container
  std::optional<Traced<std::string>> dns_policy;  // only where the pod is on the node's network
};

/// Refuses the node's network where no profile gives it.
[[nodiscard]] NetworkChoice decide_network(const Settings& settings, const Sizing& sizing, Findings& findings);

}  // namespace inference::render
