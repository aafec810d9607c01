#pragma once

#include <string>
#include <vector>

#include "cli/outcome.h"

namespace inference::cli {

/// Parses the arguments (without the program's name) and runs the command that they name.
[[nodiscard]] Outcome run(std::vector<std::string> arguments);

}  // namespace inference::cli
