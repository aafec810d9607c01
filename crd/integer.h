#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "base/json.h"

namespace inference::crd {

/// The greatest integer of which a JSON number is exact in every implementation, 2^53 − 1 (RFC 8259 section 6).
inline constexpr std::int64_t kMaxExactInteger = 9'007'199'254'740'991;

/// The integer that a JSON number stands for to the API server: `8`, and also `8.0` and `8e0`; nothing for other
/// numbers, for floats beyond ±(2^53 − 1), for integers beyond 64 bits, and for what is no number.
[[nodiscard]] inline std::optional<std::int64_t> as_integer(const Json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
    return static_cast<std::int64_t>(number);
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (!value.is_number_float()) return std::nullopt;
  const double number = value.get<double>();
  if (!(std::abs(number) <= static_cast<double>(kMaxExactInteger)) || number != std::trunc(number)) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

}  // namespace inference::crd
