#pragma once

#include <optional>
#include <string>

#include "crd/inference_deployment.h"
#include "render/findings.h"
#include "render/resolve.h"
#include "render/traced.h"

namespace inference::render {

/// How the pods of a group are placed together. `kNone`, `kVolcano`, `kNative` or `kGates`, never `kAuto`.
struct GangChoice {
  Traced<crd::Gang> gang;
  std::optional<Traced<std::string>> scheduler_name;  // of both pod templates
  std::optional<Traced<std::string>> queue;           // Volcano's
  std::optional<Traced<std::string>> label;  // of both pod templates: what the admission policy of config/gang selects
  std::optional<Traced<Json>> gates;         // of both pod templates: the scheduling gate that we lift
};

/// Takes what the cluster serves, keeps what a living object has, and says so where a group is no gang.
[[nodiscard]] GangChoice decide_gang(const Settings& settings, const ClusterFacts& cluster,
                                     std::optional<crd::Gang> recorded, Findings& findings);

}  // namespace inference::render
