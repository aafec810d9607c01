#include "base/yaml_writer.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <string_view>

#include "base/utf8.h"
#include "base/yaml_scalar.h"

// By hand, because yaml-cpp's emitter knows neither `|-` and `|+` (it changes the line breaks at a text's end) nor the
// words of YAML 1.1.

namespace inference {
namespace {

enum class Position { kKey, kValue };

/// Characters that every reader keeps as they are. U+0085, U+2028 and U+2029 are line breaks in YAML 1.1.
bool is_plain_character(const CodePoint& c) {
  return c.valid && is_printable(c.value) && c.value != 0x85 && c.value != 0x2028 && c.value != 0x2029;
}

template <typename Predicate>
bool all_code_points(std::string_view text, Predicate&& predicate) {
  while (!text.empty()) {
    const CodePoint c = decode_utf8(text);
    if (!predicate(c)) return false;
    text.remove_prefix(c.bytes);
  }
  return true;
}

bool is_plain_safe(std::string_view text) {
  if (is_ambiguous_plain_scalar(text)) return false;
  constexpr std::string_view kIndicators = "?:,[]{}#&*!|>'\"%@` ";
  if (kIndicators.find(text.front()) != std::string_view::npos) return false;
  if (text.front() == '-' && (text.size() == 1 || text[1] == ' ' || text.starts_with("---"))) return false;
  if (text.starts_with("...") || text.back() == ' ' || text.back() == ':') return false;
  if (text.find(": ") != std::string_view::npos || text.find(" #") != std::string_view::npos) return false;
  return all_code_points(
      text, [](const CodePoint& c) { return is_plain_character(c) && c.value != '\t' && c.value != '\n'; });
}

/// A literal block keeps such a text byte by byte in every reader: what indents or ends it must not be white space
/// alone.
bool is_block_safe(std::string_view text) {
  const std::size_t last_break = text.rfind('\n');
  if (last_break == std::string_view::npos) return false;
  const char first = text.front();
  if (first == '\n' || first == ' ' || first == '\t') return false;
  const std::string_view tail = text.substr(last_break + 1);
  if (!tail.empty() && tail.find_first_not_of(" \t") == std::string_view::npos) return false;
  const std::size_t content_end = text.find_last_not_of('\n');
  const std::size_t last_line = text.rfind('\n', content_end);
  const std::size_t last_begin = last_line == std::string_view::npos ? 0 : last_line + 1;
  if (text.substr(last_begin, content_end + 1 - last_begin).find_first_not_of(" \t") == std::string_view::npos)
    return false;
  return all_code_points(text, is_plain_character);
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const CodePoint c = decode_utf8(text);
    if (!c.valid) {
      out += "\xEF\xBF\xBD";  // U+FFFD: no YAML text can hold the byte itself
    } else if (c.value == '"' || c.value == '\\') {
      out.append("\\").append(1, text[0]);
    } else if (c.value == '\n') {
      out += "\\n";
    } else if (c.value == '\t') {
      out += "\\t";
    } else if (!is_plain_character(c)) {
      // Beyond U+FFFF JSON has no single escape, and only noncharacters get here: YAML's \U is right for those.
      const auto number = static_cast<unsigned>(c.value);
      out += number > 0xFFFF ? fmt::format("\\U{:08X}", number) : fmt::format("\\u{:04X}", number);
    } else {
      out += text.substr(0, c.bytes);
    }
    text.remove_prefix(c.bytes);
  }
  out += '"';
}

void append_block(std::string& out, std::string_view text, std::size_t indent) {
  out += '|';
  if (!text.ends_with('\n')) {
    out += '-';
  } else if (text.ends_with("\n\n")) {
    out += '+';
  }
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out += '\n';
    if (end > 0) out.append(indent, ' ').append(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

/// `indent` is where the lines of a block would start; 0 at the root, where none can.
void append_string(std::string& out, std::string_view text, std::size_t indent, Position position) {
  if (!text.empty() && is_plain_safe(text)) {
    out += text;
  } else if (position == Position::kValue && indent > 0 && !text.empty() && is_block_safe(text)) {
    append_block(out, text, indent);
  } else {
    append_quoted(out, text);
  }
}

/// Appends the value where the cursor stands, which is `indent` columns into its line when it is a collection.
void append_value(std::string& out, const Json& value, std::size_t indent);

void append_mapping(std::string& out, const Json& value, std::size_t indent) {
  bool first = true;
  for (const auto& [key, child] : value.items()) {
    if (!std::exchange(first, false)) out.append("\n").append(indent, ' ');
    append_string(out, key, 0, Position::kKey);
    out += ':';
    if (child.is_structured() && !child.empty()) {
      // A list starts under its key, as kubectl prints it.
      const std::size_t deeper = child.is_object() ? indent + 2 : indent;
      out.append("\n").append(deeper, ' ');
      append_value(out, child, deeper);
    } else {
      out += ' ';
      append_value(out, child, indent + 2);
    }
  }
}

void append_value(std::string& out, const Json& value, std::size_t indent) {
  if (value.is_string()) {
    append_string(out, value.get_ref<const std::string&>(), indent, Position::kValue);
  } else if (!value.is_structured() || value.empty()) {
    out += value.dump();
  } else if (value.is_object()) {
    append_mapping(out, value, indent);
  } else {
    bool first = true;
    for (const Json& item : value) {
      if (!std::exchange(first, false)) out.append("\n").append(indent, ' ');
      out += "- ";
      append_value(out, item, indent + 2);
    }
  }
}

}  // namespace

std::string write_yaml(const Json& value) {
  std::string out;
  append_value(out, value, 0);
  out += '\n';
  return out;
}

}  // namespace inference
