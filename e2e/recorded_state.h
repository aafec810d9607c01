#pragma once

#include <string>

#include "base/json.h"
#include "diagnose/evidence.h"

namespace inference::e2e {

/// What a real cluster showed of a model, as a fixture for `kubectl inference status`: diagnose/states/NAME.json.
///
/// Two recordings of the same state are equal: namespaces, names that Kubernetes made up, uids and hashes are numbered
/// as they come, times keep their order only, and what no rule reads is left out. Nodes are only those whose name
/// begins with the namespace's, since other tests have theirs.
[[nodiscard]] diagnose::Evidence scrub(const diagnose::Evidence& evidence);

[[nodiscard]] std::string state_file(const std::string& name);

}  // namespace inference::e2e
