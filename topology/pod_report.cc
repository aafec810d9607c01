#include "topology/pod_report.h"

#include <string>
#include <string_view>

namespace inference::topology {
namespace {

const Json& at(const Json& object, const char* key) {
  static const Json kNothing;
  if (!object.is_object()) return kNothing;
  const auto found = object.find(key);
  return found == object.end() ? kNothing : *found;
}

std::string_view text(const Json& value) {
  return value.is_string() ? std::string_view(value.get_ref<const std::string&>()) : std::string_view();
}

/// The state of the init container, null when there is none of that name.
const Json& state_of(const Json& pod, std::string_view container) {
  static const Json kNothing;
  for (const Json& status : at(at(pod, "status"), "initContainerStatuses")) {
    if (text(at(status, "name")) == container) return at(status, "state");
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
    const Json& ended = at(*state, "terminated");
    if (!ended.is_object()) continue;
    report.record = read_record(text(at(ended, "message")));
    break;
  }
  report.held = at(gate, "running").is_object();
  return report;
}

}  // namespace inference::topology
