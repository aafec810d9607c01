#pragma once

#include <optional>
#include <string>

#include "render/findings.h"
#include "render/resolve.h"
#include "render/traced.h"

namespace inference::render {

/// Where the weights are mounted from, read-only at /models, and where the engine finds them.
struct ModelSource {
  Traced<std::string> path;            // in the container: /models/llama
  std::optional<HoleValue> host_path;  // of the volume: exactly one of the two
  std::optional<HoleValue> claim;
};

/// Takes file:///FOLDER/MODEL and pvc://CLAIM/PATH; refuses every other scheme by name.
[[nodiscard]] ModelSource decide_model(const Settings& settings, Findings& findings);

}  // namespace inference::render
