#pragma once

#include <string>

#include "base/json.h"

namespace inference {

/// The value as block-style YAML with a trailing newline, two spaces of indent, keys in order. Every string that any
/// YAML 1.1 or 1.2 reader could take for something else (`on`, `0123`, `1e3`, `null`, a leading `*` …) is quoted;
/// multi-line strings become `|` blocks.
[[nodiscard]] std::string write_yaml(const Json& value);

}  // namespace inference
