#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace inference::render {

/// The place that a JSON pointer names in `object`, for people:
/// `spec.template.spec.containers[name=engine].env[name=OMP_NUM_THREADS].value`. Items of a list are told by name,
/// mountPath or key where that is unique in the list, else by index; keys that are no plain words stand as ['a.b/c'].
[[nodiscard]] std::string object_path(const Json& object, std::string_view pointer);

/// The path of what a path that object_path wrote lies in: without its last key or item. Empty for a top-level key.
[[nodiscard]] std::string path_above(std::string_view path);

/// Where a text is no path, and why.
struct PathFault {
  std::size_t position = 0;  // 1-based, in bytes
  std::string message;
};

/// What is wrong with `wanted` as path_is_under takes it; nothing when it is well formed.
[[nodiscard]] std::optional<PathFault> path_fault(std::string_view wanted);

/// Whether the place lies at or under `wanted`, which may be a path as object_path writes it, with indexes
/// (`spec.ports[0]`), with `*` for any item, as kubectl's JSONPath (`{.spec.ports[?(@.name=="http")]}`, `$.spec`), or a
/// JSON pointer. Empty means everything; what is no path has nothing under it.
[[nodiscard]] bool path_is_under(std::string_view path, std::string_view pointer, std::string_view wanted);

}  // namespace inference::render
