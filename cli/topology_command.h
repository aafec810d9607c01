#pragma once

#include <string>

#include "cli/cluster.h"
#include "cli/outcome.h"
#include "cli/render_command.h"

namespace inference::cli {

/// What `topology` looks at: exactly one of a pod and a file.
struct TopologyOptions {
  std::string pod;   // whose init container has reported
  std::string from;  // output of `nvidia-smi topo -m`, `-` for standard input
  ClusterOptions cluster;
};

/// `topology`: the verdict on the links between a pod's GPUs, as the operator would say it in TopologyVerified, then
/// the link of each pair. Anything but True is a finding.
[[nodiscard]] Outcome run_topology(const TopologyOptions& options, OutputFormat format);

}  // namespace inference::cli
