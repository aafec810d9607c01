#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>
#include <system_error>

namespace inference {

/// The integer that the whole text is, in decimal; nothing for any other text, and for what `T` can't hold.
template <std::integral T>
[[nodiscard]] std::optional<T> parse_integer(std::string_view text) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return value;
}

}  // namespace inference
