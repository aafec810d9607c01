#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "diagnose/evidence.h"

namespace inference::diagnose {

/// Why a model does not serve, and what to do about it.
struct Finding {
  std::string cause;  // a clause
  std::string next;   // a step in the imperative; empty when there is nothing to do
};

/// One thing that may be the matter.
struct Rule {
  const char* name;  // CamelCase
  std::function<std::optional<Finding>(const Evidence&)> look;
};

/// All of them, the most decisive first: what keeps everything else from happening stands before what follows from it.
[[nodiscard]] const std::vector<Rule>& rules();

/// The answer to "why is it not running".
struct Diagnosis {
  bool ready = false;  // by its condition Ready
  std::string rule;    // the first that found something; Unexplained when none did
  Finding finding;
};

/// Never fails: where no rule finds anything, the condition Ready is told as it stands. Pure.
[[nodiscard]] Diagnosis diagnose(const Evidence& evidence);

/// One pod in a table.
struct Row {
  std::string group;  // empty for a Deployment's
  std::string pod;
  std::string node;
  std::string phase;  // as kubectl shows it, in short: Running, Pending, Terminating
  std::string why;    // empty when it serves
};
/// By group and name.
[[nodiscard]] std::vector<Row> rows(const Evidence& evidence);

}  // namespace inference::diagnose
