#include "cli/object_lines.h"

#include <algorithm>

#include "base/json_pointer.h"

namespace inference::cli {
namespace {

std::string_view unquoted(std::string_view key) {
  const bool quoted = key.size() >= 2 && (key.front() == '\'' || key.front() == '"') && key.back() == key.front();
  return quoted ? key.substr(1, key.size() - 2) : key;
}

}  // namespace

std::string pointer_of(std::string_view path) {
  std::string pointer;
  while (!path.empty()) {
    if (path.front() == '.') {
      path.remove_prefix(1);
    } else if (path.front() == '[') {
      const std::size_t close = std::min(path.find(']'), path.size());
      append_pointer_token(pointer, unquoted(path.substr(1, close - 1)));
      path.remove_prefix(std::min(close + 1, path.size()));
    } else {
      const std::size_t end = std::min(path.find_first_of(".["), path.size());
      append_pointer_token(pointer, path.substr(0, end));
      path.remove_prefix(end);
    }
  }
  return pointer;
}

std::size_t line_of(const JsonDocument& document, std::string_view base, std::string_view field_path) {
  return document.line_of(std::string(base) + pointer_of(field_path));
}

}  // namespace inference::cli
