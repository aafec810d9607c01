#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace inference::render {

/// A key as a token of a JSON pointer (RFC 6901): `~` and `/` escaped.
[[nodiscard]] std::string escape_pointer_token(std::string_view key);

/// Calls `visit(pointer, leaf)` for every leaf of `value` in order; a leaf is a scalar, {} or []. Pointers are relative
/// to `value`: "" is itself.
void for_each_leaf(const Json& value, const std::function<void(const std::string& pointer, const Json& leaf)>& visit);

}  // namespace inference::render
