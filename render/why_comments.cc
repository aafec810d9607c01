#include "render/why_comments.h"

#include <algorithm>
#include <expected>
#include <optional>
#include <set>

namespace inference::render {

namespace {

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

/// Lines by 1-based number.
class Lines {
 public:
  explicit Lines(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      lines_.push_back(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }
  [[nodiscard]] std::size_t count() const { return lines_.size(); }
  [[nodiscard]] std::string_view at(std::size_t line) const {
    return line >= 1 && line <= lines_.size() ? lines_[line - 1] : std::string_view{};
  }

 private:
  std::vector<std::string_view> lines_;
};

/// What the tree says about lines: where keys and items start, and which lines are inside a scalar.
struct Layout {
  std::set<std::size_t> starts;
  std::set<std::size_t> content;  // of block scalars and of quoted scalars after their first line
};

std::size_t indent_of(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

/// The column of the key or item on a line that may begin with one or more `- `.
std::size_t structure_indent(std::string_view line) {
  std::size_t column = indent_of(line);
  while (column + 2 < line.size() && line[column] == '-' && line[column + 1] == ' ')
    column += 2 + indent_of(line.substr(column + 2));
  return column;
}

void mark_block_scalar(const Lines& lines, std::size_t header, std::set<std::size_t>& content) {
  std::size_t first = header + 1;
  while (first <= lines.count() && trim(lines.at(first)).empty()) ++first;
  const std::size_t indent = indent_of(lines.at(first));
  const std::string_view header_line = lines.at(header);
  // `- |` counts from the dash: its content may stand right of it, where structure_indent already is.
  const bool item_is_scalar =
      structure_indent(header_line) < header_line.size() &&
      std::string_view("|>").find(header_line[structure_indent(header_line)]) != std::string_view::npos;
  const std::size_t parent = item_is_scalar ? indent_of(header_line) : structure_indent(header_line);
  if (indent <= parent) return;  // an empty block
  for (std::size_t line = header + 1; line <= lines.count(); ++line) {
    if (!trim(lines.at(line)).empty() && indent_of(lines.at(line)) < indent) return;
    content.insert(line);
  }
}

void mark_quoted_scalar(const Lines& lines, std::size_t line, std::size_t column, std::set<std::size_t>& content) {
  const char quote = lines.at(line)[column];
  for (std::size_t begin = column + 1; line <= lines.count(); ++line, begin = 0) {
    const std::string_view text = lines.at(line);
    for (std::size_t i = begin; i < text.size(); ++i) {
      if (text[i] == '\\' && quote == '"') {
        ++i;
      } else if (text[i] == quote) {
        if (quote == '"' || i + 1 >= text.size() || text[i + 1] != quote) return;
        ++i;  // '' is a quote inside single quotes
      }
    }
    content.insert(line + 1);
  }
}

void mark(const YamlNode& node, const Lines& lines, Layout& layout) {
  if (node.kind == YamlNode::Kind::kScalar && !node.plain && node.tag.empty()) {
    const std::string_view line = lines.at(node.line);
    const std::size_t column = node.column == 0 ? 0 : node.column - 1;
    const bool quoted = column < line.size() && (line[column] == '"' || line[column] == '\'');
    if (quoted)
      mark_quoted_scalar(lines, node.line, column, layout.content);
    else
      mark_block_scalar(lines, node.line, layout.content);
  }
  for (const YamlNode& item : node.items) {
    layout.starts.insert(item.line);
    mark(item, lines, layout);
  }
  for (const YamlNode::Entry& entry : node.entries) {
    layout.starts.insert(entry.key_line);
    mark(entry.value, lines, layout);
  }
}

/// Where the comment of a line begins: a `#` after white space or at the start, outside quotes. Quotes only open where
/// a token starts.
std::size_t find_comment(std::string_view line) {
  char quote = 0;
  char before = ' ';
  for (std::size_t i = 0; i < line.size(); before = line[i], ++i) {
    const char c = line[i];
    if (quote != 0) {
      if (c == '\\' && quote == '"')
        ++i;
      else if (c == quote)
        quote = 0;  // '' closes and opens again: the same result
    } else if ((c == '"' || c == '\'') && std::string_view(" [{,:'").find(before) != std::string_view::npos) {
      quote = c;
    } else if (c == '#' && (before == ' ' || before == '\t')) {
      return i;
    }
    if (i >= line.size()) break;
  }
  return std::string_view::npos;
}

/// The reason in a comment (which starts with `#`): none for an ordinary comment, an error for one that is nearly a
/// reason.
std::expected<std::optional<WhyComment>, std::string> parse_why(std::string_view comment, std::size_t line) {
  std::string_view text = trim(comment.substr(1));
  if (!text.starts_with("why") && !text.starts_with("Why")) return std::nullopt;
  const char next = text.size() > 3 ? text[3] : '\0';
  if (next != ':' && next != '[') return std::nullopt;  // a sentence that begins with the word
  const bool exact = text.front() == 'w';
  text.remove_prefix(3);
  WhyComment why{.text = {}, .ref = {}, .line = line};
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return std::unexpected("the reference of this reason has no closing ]");
    why.ref = trim(text.substr(1, end - 1));
    if (why.ref.empty()) return std::unexpected("the reference of this reason is empty");
    text.remove_prefix(end + 1);
  }
  if (!exact || !text.starts_with(':')) return std::unexpected("write a reason as `# why: text` or `# why[ref]: text`");
  why.text = trim(text.substr(1));
  if (why.text.empty()) return std::unexpected("this reason has no text");
  return why;
}

bool is_comment_line(const Lines& lines, const Layout& layout, std::size_t line) {
  return line >= 1 && line <= lines.count() && trim(lines.at(line)).starts_with('#') && !layout.content.contains(line);
}

/// Reads the comment lines from `first` on; returns the line after them.
std::size_t scan_comment_block(const Lines& lines, const Layout& layout, std::size_t first, WhyComments& result) {
  std::optional<WhyComment> why;
  std::size_t line = first;
  for (; is_comment_line(lines, layout, line); ++line) {
    const std::string_view comment = trim(lines.at(line));
    const auto parsed = parse_why(comment, line);
    if (!parsed) {
      result.faults.emplace_back(line, parsed.error());
    } else if (*parsed) {
      if (why) result.faults.emplace_back(line, "two reasons above one line: join them");
      why = **parsed;
    } else if (why && comment.size() > 1) {
      why->text += " " + std::string(trim(comment.substr(1)));
    }
  }
  if (!why) return line;
  if (layout.starts.contains(line) && !layout.content.contains(line))
    result.above.emplace(line, *why);
  else
    result.faults.emplace_back(why->line, "this reason stands directly above no key or item");
  return line;
}

}  // namespace

WhyComments scan_why_comments(std::string_view text, const YamlNode& root) {
  const Lines lines(text);
  Layout layout;
  layout.starts.insert(root.line);
  mark(root, lines, layout);
  WhyComments result;
  for (std::size_t line = 1; line <= lines.count(); ++line) {
    if (is_comment_line(lines, layout, line)) line = scan_comment_block(lines, layout, line, result);
    if (!layout.starts.contains(line) || layout.content.contains(line)) continue;
    const std::size_t begin = find_comment(lines.at(line));
    if (begin == std::string_view::npos) continue;
    const auto parsed = parse_why(lines.at(line).substr(begin), line);
    if (!parsed)
      result.faults.emplace_back(line, parsed.error());
    else if (*parsed)
      result.trailing.emplace(line, **parsed);
  }
  return result;
}

}  // namespace inference::render
