#include "base/utf8.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>

namespace inference {

CodePoint decode_utf8(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {.value = first, .bytes = 1, .valid = true};
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < bytes) return {};
  char32_t value = first & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {};
    value = (value << 6U) | (byte(i) & 0x3FU);
  }
  constexpr std::array<char32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < kSmallest[bytes] || value > 0x10FFFF || surrogate) return {};
  return {.value = value, .bytes = bytes, .valid = true};
}

bool is_printable(char32_t c) {
  if (c < 0x20) return c == '\t' || c == '\n';
  const bool control = c >= 0x7F && c < 0xA0;
  const bool direction = (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
  return !control && !direction && c != 0xFEFF && (c & 0xFFFEU) != 0xFFFEU;
}

std::string escape_for_terminal(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const CodePoint c = decode_utf8(text);
    if (!c.valid) {
      out += fmt::format("\\x{:02X}", static_cast<unsigned char>(text[0]));
    } else if (c.value == '\n') {
      out += "\\n";
    } else if (c.value == '\t') {
      out += "\\t";
    } else if (!is_printable(c.value)) {
      out += c.value < 0x100 ? fmt::format("\\x{:02X}", static_cast<unsigned>(c.value))
                             : fmt::format("\\u{:04X}", static_cast<unsigned>(c.value));
    } else {
      out += text.substr(0, c.bytes);
    }
    text.remove_prefix(c.bytes);
  }
  return out;
}

}  // namespace inference
