#pragma once

#include <string>
#include <vector>

#include "audit/finding.h"
#include "audit/workload.h"

namespace inference::audit {

/// By which a workload, or a pod template, says what is not to be found in it: "rule: reason; rule: reason".
inline constexpr const char* kIgnoreAnnotation = "audit.inference-operator.dev/ignore";

/// One entry of the annotation.
struct Ignore {
  std::string rule;
  std::string reason;  // never empty
  std::string below;   // pointer: what lies there or below is ignored
};

/// What a workload ignores, and what is wrong with how it says so.
struct Ignores {
  std::vector<Ignore> entries;
  std::vector<Finding> findings;  // rules `ignore-without-reason` and `ignore-unknown-rule`; without object and path

  /// Null when nothing says that the finding is to be ignored.
  [[nodiscard]] const Ignore* find(const Finding& finding) const;
};

/// A template's annotation counts for what lies in the template; that of the only template, for the whole workload.
[[nodiscard]] Ignores read_ignores(const Workload& workload);

}  // namespace inference::audit
