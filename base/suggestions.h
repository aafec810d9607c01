#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace inference {

/// The insertions, deletions and replacements that turn one text into the other.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// The `count` candidates that are nearest to `wanted`, nearest first; only those that one could have meant, so perhaps
/// none. A leading `.`, `$` or `/` counts for nothing.
[[nodiscard]] std::vector<std::string> nearest(std::string_view wanted, std::vector<std::string> candidates,
                                               std::size_t count);

/// "; did you mean replicas?" to end a message with, or "" where no candidate is near.
[[nodiscard]] std::string did_you_mean(std::string_view wanted, std::vector<std::string> candidates);

}  // namespace inference
