#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace inference::crd {

/// One row of verdict_cases.yaml, for tests.
struct VerdictCase {
  std::string name;
  Json object;                  // whole, with kind and metadata
  std::vector<std::string> at;  // paths of the faults, sorted; empty for a good object
};

/// All rows, the bad ones first. Throws std::runtime_error when the file at `path` can't be read.
[[nodiscard]] std::vector<VerdictCase> read_verdict_cases(const std::string& path);

}  // namespace inference::crd
