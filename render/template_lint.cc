#include "render/template_lint.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/suggestions.h"
#include "render/plain_scalar.h"

namespace inference::render {

namespace {

using Kind = TemplateNode::Kind;

bool is_hole(const TemplateNode& node) {
  return node.kind == Kind::kValue || node.kind == Kind::kOptional || node.kind == Kind::kSplice;
}

std::string written(const TemplateNode& node) {
  switch (node.kind) {
    case Kind::kValue:
      return "!value " + node.name;
    case Kind::kOptional:
      return "!optional " + node.name;
    case Kind::kSplice:
      return "!splice " + node.name;
    case Kind::kInclude:
      return "!include " + node.name;
    case Kind::kScalar:
    case Kind::kMapping:
    case Kind::kSequence:
      return node.constant ? node.json.dump() : node.key;
  }
  std::unreachable();
}

const TemplateNode& resolved(const TemplateNode& node) {
  return node.kind == Kind::kInclude && node.included != nullptr ? *node.included : node;
}

/// The checks of one tree.
class Linter {
 public:
  Linter(const Template& file, std::vector<TemplateFault>& faults) : file_(file), faults_(faults) {}

  void lint_root() {
    const bool collection = file_.root.kind == Kind::kMapping || file_.root.kind == Kind::kSequence;
    if (collection)
      lint_below(file_.root, true);
    else
      lint(file_.root, true);
  }

 private:
  void fault(const TemplateNode& node, std::string message) {
    faults_.push_back({.file = file_.file, .line = node.line, .message = std::move(message)});
  }

  /// `parent_explained`: false below a line that was already found to have no reason; one fault is enough then.
  void lint(const TemplateNode& node, bool parent_explained) {
    const bool explained = node.why.line != 0;
    if (!node.why.own && is_hole(node))
      fault(node, written(node) + " has no reason of its own: end the line with `# why: …`");
    else if (!node.why.own && node.kind == Kind::kScalar && is_figure(node.json))
      fault(node, "the figure " + written(node) + " has no reason of its own: end the line with `# why: …`");
    else if (!explained && parent_explained)
      fault(node, "no reason, neither here nor above: end the line with `# why: …`");
    lint_below(node, explained);
  }

  void lint_below(const TemplateNode& node, bool explained) {
    lint_shell(node);
    for (const TemplateNode& child : node.children) lint(child, explained);
  }

  /// A shell reads what follows `-c` as program text, where a value could become code.
  void lint_shell(const TemplateNode& node) {
    if (node.kind == Kind::kSequence) {
      for (std::size_t i = 1; i < node.children.size(); ++i) {
        const TemplateNode& text = resolved(node.children[i]);
        if (!text.constant && asks_for_text(node, i)) refuse_in_shell(node.children[i]);
      }
    }
    // A container's words may be split over two lists: command [sh, -c] and args [text].
    const TemplateNode* command = node.find("command");
    const TemplateNode* args = node.find("args");
    if (command == nullptr || args == nullptr) return;
    const TemplateNode& words = resolved(*command);
    if (words.kind != Kind::kSequence || !asks_for_text(words, words.children.size())) return;
    const TemplateNode& list = resolved(*args);
    if (list.kind != Kind::kSequence) {
      if (!list.constant) refuse_in_shell(*args);
    } else if (!list.children.empty() && !resolved(list.children.front()).constant) {
      refuse_in_shell(list.children.front());
    }
  }

  void refuse_in_shell(const TemplateNode& node) {
    fault(node, written(node) + " in the text of a shell's -c: a value there could become code; pass it by env");
  }

  /// Whether the items before `end` are a shell and options of which the last takes program text (`-c`, `-ec`). A hole
  /// before an option may be a shell.
  static bool asks_for_text(const TemplateNode& list, std::size_t end) {
    const auto option = [&](std::size_t i) -> std::string_view {
      const TemplateNode& item = resolved(list.children[i]);
      if (!item.constant || !item.json.is_string()) return {};
      const std::string_view text = item.json.get_ref<const std::string&>();
      return text.starts_with('-') ? text : std::string_view{};
    };
    if (end == 0) return false;
    const std::string_view last = option(end - 1);
    if (last.starts_with("--") || !last.contains('c')) return false;
    std::size_t first_option = end - 1;
    while (first_option > 0 && !option(first_option - 1).empty()) --first_option;
    if (first_option == 0) return false;
    return may_be_shell(resolved(list.children[first_option - 1]));
  }

  static bool may_be_shell(const TemplateNode& word) {
    if (!word.constant) return true;
    if (!word.json.is_string()) return false;
    std::string_view name = word.json.get_ref<const std::string&>();
    name.remove_prefix(name.rfind('/') == std::string_view::npos ? 0 : name.rfind('/') + 1);
    static constexpr std::array kShells = {"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish"};
    return std::ranges::find(kShells, name) != kShells.end();
  }

  const Template& file_;
  std::vector<TemplateFault>& faults_;
};

std::string_view needed_member(HoleShape shape) {
  switch (shape) {
    case HoleShape::kValue:
      return "a single value: name it with !value";
    case HoleShape::kOptional:
      return "an optional value: name it with !optional";
    case HoleShape::kList:
      return "a list: name it with !splice, or with !value where the whole list is the value";
  }
  std::unreachable();
}

/// The checks of trees against structs.
class SchemaLinter {
 public:
  SchemaLinter(const TemplateMap& templates, std::vector<TemplateFault>& faults)
      : templates_(templates), faults_(faults) {}

  void lint(std::span<const TemplateSchema> schemas) {
    for (const TemplateSchema& schema : schemas) lint_schema(schema);
    for (const TemplateSchema& schema : schemas) {
      for (const HoleDeclaration& hole : schema.holes) {
        if (used_.contains({hole.table, hole.name}) || !templates_.contains(schema.file)) continue;
        fault(schema.file, 0, "hole " + std::string(hole.name) + " is offered by the C++ struct, but no line names it");
        used_.insert({hole.table, hole.name});
      }
    }
    for (const auto& [name, file] : templates_) {
      if (!file.root.constant && !reached_.contains(name))
        fault(name, 0, "has holes, but no C++ struct fills it and no other file includes it");
    }
  }

 private:
  using Offered = std::map<std::string_view, const HoleDeclaration*>;

  void fault(std::string_view file, std::size_t line, std::string message) {
    faults_.push_back({.file = std::string(file), .line = line, .message = std::move(message)});
  }

  void lint_schema(const TemplateSchema& schema) {
    const auto file = templates_.find(schema.file);
    if (file == templates_.end()) return fault(schema.file, 0, "is filled by the program, but there is no such file");
    Offered offered;
    for (const HoleDeclaration& hole : schema.holes) {
      if (!offered.emplace(hole.name, &hole).second)
        fault(schema.file, 0, "hole " + std::string(hole.name) + " is offered twice by the C++ structs");
    }
    if (schema.object) lint_object(file->second, *schema.object);
    walk(file->second, file->second.root, offered);
  }

  void lint_object(const Template& file, const ObjectShape& shape) {
    const TemplateNode& root = file.root;
    const std::vector<std::string> fields = {"apiVersion", "kind", "metadata", shape.field};
    for (const TemplateNode& child : root.children) {
      if (std::ranges::find(fields, child.key) != fields.end()) continue;
      fault(file.file, child.line,
            "unknown field " + child.key + ": a " + shape.kind + " has apiVersion, kind, metadata and " + shape.field +
                did_you_mean(child.key, fields));
    }
    for (const auto& [key, value] : {std::pair{"apiVersion", shape.api_version}, std::pair{"kind", shape.kind}}) {
      const TemplateNode* node = root.find(key);
      if (node == nullptr || !node->constant || node->json != value)
        fault(file.file, node == nullptr ? 0 : node->line, std::string(key) + " must be " + value);
    }
    const TemplateNode* metadata = root.find("metadata");
    if (metadata == nullptr || resolved(*metadata).find("name") == nullptr)
      fault(file.file, metadata == nullptr ? 0 : metadata->line, "metadata.name is missing");
  }

  void walk(const Template& file, const TemplateNode& node, const Offered& offered) {
    reached_.insert(file.file);
    if (is_hole(node)) check_hole(file, node, offered);
    if (node.included != nullptr) {
      const Template& target = templates_.find(node.name)->second;
      walk(target, target.root, offered);
    }
    for (const TemplateNode& child : node.children) walk(file, child, offered);
  }

  void check_hole(const Template& file, const TemplateNode& node, const Offered& offered) {
    const auto found = offered.find(node.name);
    if (found == offered.end())
      return fault(file.file, node.line, "unknown hole " + node.name + ": no member of the C++ structs has that name");
    const HoleDeclaration& hole = *found->second;
    used_.insert({hole.table, hole.name});
    if (!tag_fits(node.kind, hole.shape))
      fault(file.file, node.line,
            written(node) + " does not fit: the member is " + std::string(needed_member(hole.shape)));
  }

  static bool tag_fits(Kind tag, HoleShape shape) {
    switch (shape) {
      case HoleShape::kValue:
        return tag == Kind::kValue;
      case HoleShape::kOptional:
        return tag == Kind::kOptional;
      case HoleShape::kList:
        return tag == Kind::kSplice || tag == Kind::kValue;
    }
    std::unreachable();
  }

  const TemplateMap& templates_;
  std::vector<TemplateFault>& faults_;
  std::set<std::pair<const void*, std::string_view>> used_;
  std::set<std::string_view> reached_;
};

}  // namespace

void lint_template(const Template& file, std::vector<TemplateFault>& faults) {
  Linter(file, faults).lint_root();
}

void lint_schemas(const TemplateMap& templates, std::span<const TemplateSchema> schemas,
                  std::vector<TemplateFault>& faults) {
  SchemaLinter(templates, faults).lint(schemas);
}

}  // namespace inference::render
