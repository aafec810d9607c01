// to_json: what a YAML document means, as kubectl would send it.

#include "base/json_pointer.h"
#include "base/yaml_reader.h"
#include "base/yaml_scalar.h"

namespace inference {
namespace {

using Lines = std::map<std::string, std::size_t, std::less<>>;
using Failure = std::optional<YamlError>;

YamlError error_at(const YamlNode& node, std::string message) {
  return {.message = std::move(message), .line = node.line, .column = node.column};
}

/// sigs.k8s.io/yaml makes text of plain keys that are booleans or integers: `on: x` has the key "true", `0x10: x` the
/// key "16".
std::optional<std::string> key_text(const YamlNode::Entry& entry) {
  if (!entry.key_plain) return entry.key;
  const auto value = resolve_plain_scalar(entry.key);
  if (!value || value->is_null() || value->is_number_float()) return std::nullopt;
  return value->is_string() ? value->get<std::string>() : value->dump();
}

/// kubectl takes YAML's own tags. They are refused with what to write instead: quotes say the same of a text, and no
/// manifest needs more than text, numbers, booleans and null.
std::string tag_fault(const std::string& tag) {
  if (tag == "!!str") return "tag !!str is not taken, though kubectl takes it: put the text in quotes";
  if (tag == "!!binary") return "tag !!binary is not taken, though kubectl takes it: write the decoded text";
  if (tag.starts_with("!!"))
    return "tag " + tag + " is not taken, though kubectl may: write the plain value without it";
  return "tag " + tag + " is not taken: only templates have tags of their own";
}

/// Fills `value` and the lines below `pointer`, which is restored before it returns.
Failure convert(const YamlNode& node, std::string& pointer, Json& value, Lines& lines);

Failure convert_mapping(const YamlNode& node, std::string& pointer, Json& value, Lines& lines) {
  value = Json::object();
  const std::size_t length = pointer.size();
  for (const YamlNode::Entry& entry : node.entries) {
    const auto key = key_text(entry);
    if (!key)
      return YamlError{.message = "key " + entry.key + " is no text: quote it", .line = entry.key_line, .column = 1};
    if (value.contains(*key))
      return YamlError{.message = "duplicate key \"" + *key + "\"", .line = entry.key_line, .column = 1};
    append_pointer_token(pointer, *key);
    lines.emplace(pointer, entry.key_line);
    if (auto failure = convert(entry.value, pointer, value[*key], lines)) return failure;
    pointer.resize(length);
  }
  return std::nullopt;
}

Failure convert(const YamlNode& node, std::string& pointer, Json& value, Lines& lines) {
  if (!node.tag.empty()) return error_at(node, tag_fault(node.tag));
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return std::nullopt;
    case YamlNode::Kind::kMapping:
      return convert_mapping(node, pointer, value, lines);
    case YamlNode::Kind::kScalar: {
      auto typed = node.plain ? resolve_plain_scalar(node.scalar) : Json(node.scalar);
      if (!typed)
        return error_at(node, node.scalar + " is a number that JSON does not have: quote it if text is meant");
      value = std::move(*typed);
      return std::nullopt;
    }
    case YamlNode::Kind::kSequence:
      break;
  }
  value = Json::array();
  const std::size_t length = pointer.size();
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    append_pointer_token(pointer, std::to_string(i));
    lines.emplace(pointer, node.items[i].line);
    Json item;
    if (auto failure = convert(node.items[i], pointer, item, lines)) return failure;
    value.push_back(std::move(item));
    pointer.resize(length);
  }
  return std::nullopt;
}

}  // namespace

std::size_t JsonDocument::line_of(std::string_view pointer) const {
  while (true) {
    if (const auto found = lines.find(pointer); found != lines.end()) return found->second;
    const std::size_t slash = pointer.rfind('/');
    if (slash == std::string_view::npos) return 0;
    pointer = pointer.substr(0, slash);
  }
}

std::expected<JsonDocument, YamlError> to_json(const YamlNode& node) {
  JsonDocument document;
  document.lines.emplace("", node.line);
  std::string pointer;
  if (auto failure = convert(node, pointer, document.value, document.lines))
    return std::unexpected(std::move(*failure));
  return document;
}

std::expected<std::vector<JsonDocument>, YamlError> read_yaml_documents(std::string_view text,
                                                                        const YamlLimits& limits) {
  auto nodes = read_yaml(text, limits);
  if (!nodes) return std::unexpected(std::move(nodes.error()));
  std::vector<JsonDocument> documents;
  documents.reserve(nodes->size());
  for (const YamlNode& node : *nodes) {
    auto document = to_json(node);
    if (!document) return std::unexpected(std::move(document.error()));
    documents.push_back(std::move(*document));
  }
  return documents;
}

}  // namespace inference
