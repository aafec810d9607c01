#pragma once

#include <set>
#include <string>
#include <vector>

namespace inference::reconcilers {

/// One thing that the operator asks the API server for.
struct Permission {
  std::string group;
  std::string resource;  // plural, with the subresource: "inferencedeployments/status"
  std::string verb;
  std::string name;  // only this object; empty: any
  auto operator<=>(const Permission&) const = default;
};

/// Everything that the reconcilers and the recorder call, made from the same lists that the informers and the writes
/// are made from.
[[nodiscard]] std::set<Permission> required_permissions();

/// What leader election calls, in the operator's own namespace only, with the names that --leader-elect-resource-name
/// and -namespace have by default.
[[nodiscard]] std::set<Permission> required_election_permissions();

/// What is tried in the operator's own namespace only: pods as dry runs.
[[nodiscard]] std::set<Permission> required_probe_permissions();

}  // namespace inference::reconcilers
