#pragma once

#include <optional>

#include "base/json.h"
#include "topology/verdict.h"

namespace inference::topology {

/// Init containers whose termination message is a Record: one that reports and ends, and one that then holds the pod
/// until the links are good.
inline constexpr const char* kCheckContainer = "topology-check";
inline constexpr const char* kGateContainer = "topology-gate";

/// What a pod's status shows of the look at its GPUs' links.
struct PodReport {
  std::optional<Record> record;  // the newest; none until the first container has ended
  bool held = false;             // the gate runs, so the engine does not start
};

/// Nothing when the pod has no such container. Reads `.status.initContainerStatuses` leniently. Pure.
[[nodiscard]] std::optional<PodReport> read_pod_report(const Json& pod);

}  // namespace inference::topology
