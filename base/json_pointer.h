#pragma once

#include <string>
#include <string_view>

namespace inference {

/// Adds a key, or an index, to a JSON pointer (RFC 6901): `~` and `/` inside it are escaped.
void append_pointer_token(std::string& pointer, std::string_view token);

}  // namespace inference
