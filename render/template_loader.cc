#include "render/template_loader.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/yaml_reader.h"
#include "render/plain_scalar.h"
#include "render/why_comments.h"

namespace inference::render {

namespace {

using Kind = TemplateNode::Kind;

std::size_t last_line(const YamlNode& node) {
  std::size_t last = node.line;
  for (const YamlNode& item : node.items) last = std::max(last, last_line(item));
  for (const YamlNode::Entry& entry : node.entries) last = std::max({last, entry.key_line, last_line(entry.value)});
  return last;
}

/// Whether the node is a collection whose first child stands on the same line and whose others do not (`- name: x` and
/// keys below): a comment at the end of that line then speaks about the first child.
bool opens_on_line(const YamlNode& node, std::size_t line) {
  const bool first_child_there = (!node.entries.empty() && node.entries.front().key_line == line) ||
                                 (!node.items.empty() && node.items.front().line == line);
  return first_child_there && last_line(node) > line;
}

bool is_name(std::string_view text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return !text.empty() && is_letter(text.front()) &&
         std::ranges::all_of(text, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; });
}

class Builder {
 public:
  Builder(std::string_view file, std::string_view text, const YamlNode& root, std::vector<TemplateFault>& faults)
      : file_(file), text_(text), comments_(scan_why_comments(text, root)), faults_(faults) {
    for (const auto& [line, message] : comments_.faults) fault(line, message);
    for (std::size_t begin = 0; begin < text.size();) {
      line_starts_.push_back(begin);
      begin = std::min(text.find('\n', begin), text.size() - 1) + 1;
    }
  }

  TemplateNode build_root(const YamlNode& root) {
    const bool collection = root.kind == YamlNode::Kind::kMapping || root.kind == YamlNode::Kind::kSequence;
    if (root.tag == "!optional" || root.tag == "!splice")
      fault(root.line, root.tag + " cannot be the whole file: there is nothing around it");
    TemplateNode node = collection ? build(root, {}, {}) : build_at(root, root.line, {});
    for (const auto& [line, why] : comments_.above) {
      if (!used_.contains(why.line)) fault(why.line, "two reasons for one line: join them");
    }
    return node;
  }

 private:
  void fault(std::size_t line, std::string message) {
    faults_.push_back({.file = std::string(file_), .line = line, .message = std::move(message)});
  }

  /// A key's value or a list item that starts on `line`: finds its own reason, else it has its parent's.
  TemplateNode build_at(const YamlNode& yaml, std::size_t line, const Why& inherited) {
    const auto above = comments_.above.find(line);
    const auto trailing = comments_.trailing.find(line);
    const WhyComment* comment = nullptr;
    if (above != comments_.above.end()) comment = &above->second;
    if (trailing != comments_.trailing.end() && !opens_on_line(yaml, line)) comment = &trailing->second;
    if (comment == nullptr) return build(yaml, line, {inherited.text, inherited.ref, inherited.line, false});
    used_.insert(comment->line);
    return build(yaml, line, {.text = comment->text, .ref = comment->ref, .line = line, .own = true});
  }

  TemplateNode build(const YamlNode& yaml, std::size_t line, const Why& why) {
    TemplateNode node;
    node.line = line;
    node.why = why;
    refuse_anchor(yaml);
    if (!yaml.tag.empty()) {
      fill_in_tag(yaml, node);
      return node;
    }
    switch (yaml.kind) {
      case YamlNode::Kind::kNull:
        node.json = nullptr;
        break;
      case YamlNode::Kind::kScalar:
        node.json = scalar(yaml);
        break;
      case YamlNode::Kind::kSequence:
        node.kind = Kind::kSequence;
        for (const YamlNode& item : yaml.items) node.children.push_back(build_at(item, item.line, why));
        break;
      case YamlNode::Kind::kMapping:
        node.kind = Kind::kMapping;
        for (const YamlNode::Entry& entry : yaml.entries) node.children.push_back(build_entry(entry, why));
        break;
    }
    return node;
  }

  TemplateNode build_entry(const YamlNode::Entry& entry, const Why& why) {
    if (entry.key_plain) {
      const auto key = parse_plain_scalar(entry.key);
      if (!key || !key->is_string()) fault(entry.key_line, "ambiguous plain key " + entry.key + ": quote it");
    }
    if (entry.value.tag == "!splice")
      fault(entry.key_line,
            "!splice puts items into the list around it, and `" + entry.key + "` is no list item: use !value");
    TemplateNode node = build_at(entry.value, entry.key_line, why);
    node.key = entry.key;
    return node;
  }

  void fill_in_tag(const YamlNode& yaml, TemplateNode& node) {
    static constexpr std::pair<std::string_view, Kind> kTags[] = {{"!value", Kind::kValue},
                                                                  {"!optional", Kind::kOptional},
                                                                  {"!splice", Kind::kSplice},
                                                                  {"!include", Kind::kInclude}};
    const auto tag = std::ranges::find(kTags, std::string_view(yaml.tag), &std::pair<std::string_view, Kind>::first);
    if (tag == std::end(kTags))
      return fault(yaml.line, "unknown tag " + yaml.tag + ": there are !value, !optional, !splice and !include");
    node.kind = tag->second;
    node.name = yaml.scalar;
    const bool scalar = yaml.kind == YamlNode::Kind::kScalar;
    if (node.kind == Kind::kInclude) {
      if (!scalar || yaml.scalar.empty()) fault(yaml.line, "!include takes the name of a file");
    } else if (!scalar || !is_name(yaml.scalar)) {
      fault(yaml.line, yaml.tag + " takes the name of a hole: a letter, then letters, digits and _");
    }
  }

  Json scalar(const YamlNode& yaml) {
    if (!yaml.plain) return yaml.scalar;
    auto value = parse_plain_scalar(yaml.scalar);
    if (value) return *std::move(value);
    fault(yaml.line, value.error());
    return yaml.scalar;
  }

  /// The reader expands aliases, but a node that has an anchor begins with it, before or after its tag; and no alias
  /// lives without an anchor.
  void refuse_anchor(const YamlNode& yaml) {
    if (yaml.line == 0 || yaml.line > line_starts_.size() || yaml.column == 0) return;
    const std::size_t begin = line_starts_[yaml.line - 1] + yaml.column - 1;
    if (begin >= text_.size()) return;
    std::string_view rest = text_.substr(begin);
    if (rest.starts_with('!')) {
      rest.remove_prefix(std::min(rest.find(' '), rest.size()));
      rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    }
    if (rest.starts_with('&')) fault(yaml.line, "anchors and aliases are not taken: use !include");
  }

  std::string_view file_;
  std::string_view text_;
  WhyComments comments_;
  std::vector<std::size_t> line_starts_;
  std::set<std::size_t> used_;  // lines of the comments that some node took
  std::vector<TemplateFault>& faults_;
};

void refuse_tabs(std::string_view file, std::string_view text, std::vector<TemplateFault>& faults) {
  std::size_t line = 1;
  bool told = false;
  for (const char c : text) {
    if (c == '\n') {
      ++line;
      told = false;
    } else if (c == '\t' && !std::exchange(told, true)) {
      faults.push_back({.file = std::string(file), .line = line, .message = "tab: use spaces"});
    }
  }
}

}  // namespace

std::optional<Template> parse_template(std::string_view file, std::string_view text,
                                       std::vector<TemplateFault>& faults) {
  refuse_tabs(file, text, faults);
  const auto documents = read_yaml(text);
  if (!documents) {
    faults.push_back({.file = std::string(file), .line = documents.error().line, .message = documents.error().message});
    return std::nullopt;
  }
  if (documents->size() != 1) {
    faults.push_back({.file = std::string(file),
                      .line = documents->size() < 2 ? 0 : (*documents)[1].line,
                      .message = documents->empty() ? "empty file" : "a second document: one file holds one tree"});
    return std::nullopt;
  }
  const YamlNode& root = documents->front();
  return Template{.file = std::string(file), .root = Builder(file, text, root, faults).build_root(root)};
}

}  // namespace inference::render
