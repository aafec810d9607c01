#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace inference::cli {

/// One thing that is wrong with the input, placed as precisely as is known.
struct Diagnostic {
  std::string file;      // as the user named it, "<stdin>" for `-`; empty when no file is meant
  std::size_t line = 0;  // 1-based; 0 when the whole file is meant
  std::string path;      // "spec.nodes"; empty when no field is meant
  std::string message;
};
using Diagnostics = std::vector<Diagnostic>;

/// `FILE:LINE: path: message` on one line, without what is unknown. Control characters and invalid bytes, which the
/// input may have brought in, are escaped.
[[nodiscard]] std::string to_string(const Diagnostic& diagnostic);

/// One line each, as `PREFIX: FILE:LINE: path: message`.
[[nodiscard]] std::string to_lines(const Diagnostics& diagnostics, std::string_view prefix);

}  // namespace inference::cli
