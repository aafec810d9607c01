#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "base/json.h"

namespace inference::render {

/// The value of a plain (unquoted) YAML scalar, refused where YAML 1.1, YAML 1.2 or a hurried reader would disagree on
/// it: `on`, `yes`, `0123`, `0x1F`, `1e3`, `1_000`, `12:30`, `2026-01-01`, `0.90` (printed as 0.9). What stays is true,
/// false, null, whole numbers, decimals and text. The error is a plain clause that says what to write instead.
[[nodiscard]] std::expected<Json, std::string> parse_plain_scalar(std::string_view text);

/// Whether the value is a number, a Kubernetes quantity or a duration, quoted or not ("8", 64Gi, 25%, 1h30m): a figure
/// somebody had to choose.
[[nodiscard]] bool is_figure(const Json& value);

}  // namespace inference::render
