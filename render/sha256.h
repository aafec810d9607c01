#pragma once

#include <string>
#include <string_view>

namespace inference::render {

/// SHA-256 in hexadecimal digits, as sha256sum prints it.
[[nodiscard]] std::string sha256_hex(std::string_view bytes);

}  // namespace inference::render
