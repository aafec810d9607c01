#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "audit/finding.h"
#include "render/knowledge.h"

namespace inference::audit {

/// A finding that the workload says is to be ignored.
struct Ignored {
  Finding finding;
  std::string reason;
};

/// What is found in one workload that runs GPUs.
struct Verdict {
  Object object;
  std::string title;              // "Deployment llm/llama"
  std::vector<Finding> findings;  // most severe first, then in the order of the rules
  std::vector<Ignored> ignored;
};

/// Judges by all rules the workloads among the objects that run GPUs, in their order; the other objects are what some
/// rules ask for. Whatever the objects hold, nothing is thrown.
[[nodiscard]] std::vector<Verdict> audit(const std::vector<Object>& objects,
                                         const render::Knowledge& knowledge = render::Knowledge::embedded());

}  // namespace inference::audit
