#pragma once

#include <optional>
#include <string_view>

#include "base/json.h"

namespace inference {

/// The value of a plain (unquoted) YAML scalar as kubectl types it, that is as sigs.k8s.io/yaml does with its fork of
/// go-yaml v2 (goyaml.v2/resolve.go): YAML 1.1 booleans, `0123` and `0o17` octal, `0x` and `0b`, `_` between digits,
/// `~` null. Timestamps stay strings. A float without a fraction becomes an integer, as Go's JSON encoder prints it
/// without one: `1e3` is 1000. Integers above int64 are kept up to uint64; beyond, decimal ones are floats, and those
/// with a prefix stay text. Nothing for NaN and the infinities, which JSON has not.
[[nodiscard]] std::optional<Json> resolve_plain_scalar(std::string_view text);

/// Whether some YAML 1.1 or 1.2 reader could take the plain text for anything but a string: what resolve_plain_scalar
/// types, and also base 60 numbers (`12:30`), dates, `=` and `<<`.
[[nodiscard]] bool is_ambiguous_plain_scalar(std::string_view text);

}  // namespace inference
