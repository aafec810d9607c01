#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace inference {

/// One code point at the start of a text.
struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 1;  // how many bytes it takes; 1 for a byte that begins no valid sequence
  bool valid = false;
};

/// Decodes the first code point of `text`, which must not be empty. Overlong forms, surrogates and values above
/// U+10FFFF are invalid.
[[nodiscard]] CodePoint decode_utf8(std::string_view text);

/// Whether a terminal or a YAML text may hold the code point as it is: no control characters (C0, DEL, C1) but tab and
/// line feed, no byte order mark, no U+FFFE and U+FFFF, and none of the characters that turn the direction of the text
/// around it (U+202A…, U+2066…).
[[nodiscard]] bool is_printable(char32_t code_point);

/// `text` on one line for a terminal: line breaks, tabs, invalid bytes and what is not printable become `\n`, `\t`,
/// `\xFF`, `\u202E`.
[[nodiscard]] std::string escape_for_terminal(std::string_view text);

}  // namespace inference
