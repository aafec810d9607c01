#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/cluster.h"
#include "cli/diagnostic.h"
#include "cli/manifests.h"

namespace inference::cli {

/// The objects that an audit judges, and those that its rules ask for.
struct AuditInput {
  std::vector<Object> objects;
  std::vector<std::shared_ptr<const Manifest>> manifests;  // of each object; null for what comes from a cluster
  Diagnostics faults;                                      // what could not be read
  Diagnostics notes;                                       // what was passed over
};

/// Everything in the files, in all YAML and JSON files of the folders, and in standard input for `-`.
[[nodiscard]] AuditInput read_audit_files(const std::vector<std::string>& names);

/// Workloads, claims and groups of one namespace, or of all for an empty one, with the rights of the caller. What
/// another workload has made is left out, since that one is judged. Kinds that are not served are passed over; those
/// that may not be listed are told.
[[nodiscard]] AuditInput read_audit_cluster(client::ApiClient& api, const std::string& ns);

}  // namespace inference::cli
