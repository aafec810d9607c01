#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string_view>

/// What fuzz targets share. Only they may include it.
namespace inference {

/// The input as text. It lives as long as the call.
[[nodiscard]] inline std::string_view fuzz_text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Ends the process because a property does not hold; libFuzzer then keeps the input.
[[noreturn]] inline void broken(std::string_view property, std::string_view detail = {}) {
  std::cerr << "broken: " << property << (detail.empty() ? "" : ": ") << detail << '\n';
  std::abort();
}

}  // namespace inference
