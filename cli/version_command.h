#pragma once

#include <string>

#include "cli/outcome.h"
#include "cli/render_command.h"

namespace inference::cli {

/// "0.1.0 (commit 0123456789ab)".
[[nodiscard]] std::string version_text();

/// `version`: version, commit and the digest of the templates that are built in.
[[nodiscard]] Outcome run_version(OutputFormat format);

}  // namespace inference::cli
