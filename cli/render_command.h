#pragma once

#include "cli/outcome.h"
#include "cli/workspace.h"

namespace inference::cli {

enum class OutputFormat { kYaml, kJson, kText };

/// `render`: the objects that the operator would apply for each InferenceDeployment of the files, in the order in which
/// it would. YAML documents, or one v1 List as JSON. Prints no object at all when anything is wrong: the output is made
/// to be piped to kubectl.
[[nodiscard]] Outcome run_render(const WorkspaceOptions& options, OutputFormat format);

}  // namespace inference::cli
