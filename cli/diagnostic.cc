#include "cli/diagnostic.h"

#include "base/utf8.h"

namespace inference::cli {

std::string to_string(const Diagnostic& diagnostic) {
  std::string text;
  if (!diagnostic.file.empty()) {
    text += diagnostic.file;
    if (diagnostic.line > 0) text += ":" + std::to_string(diagnostic.line);
    text += ": ";
  }
  if (!diagnostic.path.empty()) text += diagnostic.path + ": ";
  return escape_for_terminal(text + diagnostic.message);
}

std::string to_lines(const Diagnostics& diagnostics, std::string_view prefix) {
  std::string lines;
  for (const Diagnostic& diagnostic : diagnostics)
    lines.append(prefix).append(": ").append(to_string(diagnostic)).append("\n");
  return lines;
}

}  // namespace inference::cli
