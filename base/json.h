#pragma once

#include <memory>
#include <nlohmann/json.hpp>

namespace inference {

/// Any JSON value. Objects are ordered by key, so the same value always prints the same bytes.
using Json = nlohmann::json;

/// A Kubernetes object as the API server sent it: immutable once shared, so that readers need no lock.
using Object = std::shared_ptr<const Json>;

}  // namespace inference
