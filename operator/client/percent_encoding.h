#pragma once

#include <string>
#include <string_view>

namespace inference::client {

/// RFC 3986: every byte but the unreserved ones (letters, digits, `-._~`) as %XX. Right for one path segment and for a
/// query's key or value.
[[nodiscard]] inline std::string percent_encode(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  constexpr std::string_view kUnreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  std::string encoded;
  encoded.reserve(text.size());
  for (const char c : text) {
    if (kUnreserved.find(c) != std::string_view::npos) {
      encoded += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    encoded += '%';
    encoded += kHex[byte >> 4U];
    encoded += kHex[byte & 0xFU];
  }
  return encoded;
}

}  // namespace inference::client
