#pragma once

#include <string>
#include <vector>

#include "cli/cluster.h"
#include "cli/outcome.h"

namespace inference::cli {

/// What `audit` looks at, and what it says of it.
struct AuditOptions {
  std::vector<std::string> files;  // files, folders, `-` for standard input; empty with `live`
  bool live = false;               // what runs in a cluster
  bool all_namespaces = false;
  ClusterOptions cluster;
  std::string severity;  // the least that is shown: error, warn or info; empty: info
  bool fix = false;      // patches instead of findings
};

enum class AuditFormat { kText, kJson, kSarif };

/// `audit`: what is wrong with workloads that run GPUs, whoever wrote them, by the rules of audit/rules.h. The exit
/// code is kFinding when there are errors among it, shown or not, or when something could not be read. In a folder what
/// is no Kubernetes object is told and passed over.
[[nodiscard]] Outcome run_audit(const AuditOptions& options, AuditFormat format);

}  // namespace inference::cli
