#pragma once

#include <cstdint>
#include <string>

#include "render/findings.h"

namespace inference::render {

/// Names of the children, all derived from the InferenceDeployment's: found again without any record.
struct Names {
  std::string workload;    // Deployment or LeaderWorkerSet, and the PodDisruptionBudget
  std::string service;     // never the workload's: LeaderWorkerSet's headless Service has that name
  std::string drain_hook;  // ConfigMap
  std::string channel;     // ResourceClaimTemplate that NVIDIA's driver makes for the ComputeDomain

  /// ResourceClaimTemplate of the GPUs. Its spec can't be changed, so its content is part of its name.
  [[nodiscard]] std::string claim_template(const std::string& hash) const {
    return workload + "-gpus-" + hash.substr(0, 8);
  }
  /// The PodGroup of one group is named as its leader pod: that is what the admission policy writes into the pods.
  [[nodiscard]] std::string pod_group(std::int64_t index) const { return workload + "-" + std::to_string(index); }
};

/// Refuses a name that a child could not have, with the limit. The same limits stand in the CRD.
[[nodiscard]] Names decide_names(const std::string& name, std::int64_t nodes, Findings& findings);

}  // namespace inference::render
