#include "topology/pod_report.h"

#include <string_view>

#include "base/json_members.h"

namespace inference::topology {
namespace {

/// The state of the init container, null when there is none of that name.
const Json& state_of(const Json& pod, std::string_view container) {
  static const Json kNothing;
  for (const Json& status : member(member(pod, "status"), "initContainerStatuses")) {
    if (text_at(status, "name") == container) return member(status, "state");
  }
  return kNothing;
}

}  // namespace

std::optional<PodReport> read_pod_report(const Json& pod) {
  const Json& check = state_of(pod, kCheckContainer);
  if (check.is_null()) return std::nullopt;
  const Json& gate = state_of(pod, kGateContainer);
  PodReport report;
  // A gate that has ended has looked later, and may have seen a driver recover.
  for (const Json* state : {&gate, &check}) {
    const Json& ended = member(*state, "terminated");
    if (!ended.is_object()) continue;
    report.record = read_record(text_at(ended, "message"));
    break;
  }
  report.held = member(gate, "running").is_object();
  return report;
}

}  // namespace inference::topology
