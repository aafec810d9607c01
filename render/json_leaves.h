#pragma once

#include <functional>
#include <string>

#include "base/json.h"

namespace inference::render {

/// Calls `visit(pointer, leaf)` for every leaf of `value` in order; a leaf is a scalar, {} or []. Pointers are relative
/// to `value`: "" is itself.
void for_each_leaf(const Json& value, const std::function<void(const std::string& pointer, const Json& leaf)>& visit);

}  // namespace inference::render
