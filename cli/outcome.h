#pragma once

#include <string>

namespace inference::cli {

/// The process' exit codes; part of the interface.
enum class ExitCode { kOk = 0, kFinding = 1, kMisuse = 2 };

/// What a command has to say, all of it at once: commands write nothing themselves, so that a fault found late leaves
/// no half output.
struct Outcome {
  ExitCode code = ExitCode::kOk;
  std::string out;  // to standard output
  std::string err;  // to standard error
};

}  // namespace inference::cli
