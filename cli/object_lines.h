#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/yaml_reader.h"

namespace inference::cli {

/// The JSON pointer of a field path as the API server and crd::FieldError write it: `spec.engine.env[0].name`,
/// `metadata.labels[a.b/c]` or `metadata.labels['a.b/c']`.
[[nodiscard]] std::string pointer_of(std::string_view field_path);

/// The line on which `field_path` stands in the document, or its nearest ancestor that is there. `base` is the pointer
/// of the object that the path is relative to ("" for the document, "/items/3" in a List).
[[nodiscard]] std::size_t line_of(const JsonDocument& document, std::string_view base, std::string_view field_path);

}  // namespace inference::cli
