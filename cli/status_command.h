#pragma once

#include <string>

#include "cli/cluster.h"
#include "cli/outcome.h"
#include "cli/render_command.h"
#include "diagnose/evidence.h"

namespace inference::cli {

struct StatusOptions {
  std::string name;  // of the InferenceDeployment
  ClusterOptions cluster;
};

/// `status`: why the model does not serve and what to do next, on the first line; then its groups and pods. Anything
/// but Ready is a finding.
[[nodiscard]] Outcome run_status(const StatusOptions& options, OutputFormat format);

/// What `run_status` says of this evidence. Pure.
[[nodiscard]] Outcome report_status(const diagnose::Evidence& evidence, OutputFormat format);

}  // namespace inference::cli
