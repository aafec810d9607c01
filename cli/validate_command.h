#pragma once

#include "cli/outcome.h"
#include "cli/workspace.h"

namespace inference::cli {

/// `validate`: every fault of every file as `FILE:LINE: path: message`, or `FILE: ok (n objects)`. Checks what the API
/// server would, and what the operator would refuse to render. Objects of other kinds are told as skipped; a file that
/// holds no object of ours is a fault, for a wrong name in a CI job must not pass. A profile that only the cluster has
/// is no fault here; such an object is checked without it.
[[nodiscard]] Outcome run_validate(const WorkspaceOptions& options);

}  // namespace inference::cli
