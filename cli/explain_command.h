#pragma once

#include <optional>
#include <string>

#include "cli/outcome.h"
#include "cli/render_command.h"
#include "cli/workspace.h"
#include "render/object_path.h"

namespace inference::cli {

/// What is wrong with the text of --path; nothing when it is well formed.
[[nodiscard]] std::optional<render::PathFault> path_option_fault(const std::string& path);

/// `explain`: for each rendered leaf at or under `path` its value, the template line that it comes from, why that line
/// exists, and the rule that decided the value. `path` is empty for everything, or as render::is_under takes it, after
/// an optional object: `Deployment/spec.replicas`, `Service/llama-70b/spec.ports[name=http]`. `path` is well formed;
/// one that matches nothing gets the nearest ones told.
[[nodiscard]] Outcome run_explain(const WorkspaceOptions& options, const std::string& path, OutputFormat format);

}  // namespace inference::cli
