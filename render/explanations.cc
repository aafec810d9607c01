#include "render/explanations.h"

#include <map>
#include <utility>

#include "render/json_leaves.h"
#include "render/object_path.h"

namespace inference::render {

namespace {

/// Longer strings (scripts) are cut in the text form, where one line is one leaf.
constexpr std::size_t kMaxShownBytes = 100;

std::string text_or_empty(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

std::string title_of(const Json& object) {
  if (!object.is_object()) return "value";
  const auto metadata = object.find("metadata");
  std::string title = text_or_empty(object, "kind");
  if (metadata == object.end() || !metadata->is_object()) return title;
  const std::string ns = text_or_empty(*metadata, "namespace");
  return title + " " + (ns.empty() ? "" : ns + "/") + text_or_empty(*metadata, "name");
}

std::string shown(const Json& value) {
  if (!value.is_string() || value.get_ref<const std::string&>().size() <= kMaxShownBytes)
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
  const std::string& text = value.get_ref<const std::string&>();
  std::size_t end = kMaxShownBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;  // never inside a UTF-8 sequence
  return Json(text.substr(0, end)).dump(-1, ' ', false, Json::error_handler_t::replace) + "… (" +
         std::to_string(text.size()) + " bytes)";
}

std::string shown(const Origin& origin) {
  const Why& why = origin.why;
  std::string text = origin.place + " (why";
  if (!why.ref.empty()) text += "[" + why.ref + "]";
  if (!why.own) text += ", from line " + std::to_string(why.line);
  return text + ": " + why.text + ")";
}

std::string shown(const Reason& reason) {
  std::string text = reason.rule.empty() ? reason.text : reason.rule + ": " + reason.text;
  std::string separator = " (";
  for (const std::string& input : reason.inputs) {
    text += separator + input;
    separator = ", ";
  }
  if (!reason.inputs.empty()) text += ")";
  if (!reason.source.empty()) text += " [" + reason.source + "]";
  return text;
}

Json to_json(const Explanation& leaf) {
  Json json = {{"path", leaf.path}, {"pointer", leaf.pointer}, {"value", leaf.value}};
  if (!leaf.origin.place.empty()) {
    Json& origin = json["origin"] = {{"place", leaf.origin.place}, {"why", leaf.origin.why.text}};
    if (!leaf.origin.why.ref.empty()) origin["ref"] = leaf.origin.why.ref;
    if (!leaf.origin.why.own) origin["inheritedFrom"] = leaf.origin.why.line;
  }
  if (leaf.reason) {
    Json& reason = json["reason"] = {{"text", leaf.reason->text}};
    if (!leaf.reason->rule.empty()) reason["rule"] = leaf.reason->rule;
    if (!leaf.reason->inputs.empty()) reason["inputs"] = leaf.reason->inputs;
    if (!leaf.reason->source.empty()) reason["source"] = leaf.reason->source;
  }
  return json;
}

}  // namespace

void Explanations::add(const Json& object, std::vector<Explanation> leaves) {
  std::map<std::string, Explanation> by_pointer;
  for (Explanation& leaf : leaves) by_pointer.emplace(leaf.pointer, std::move(leaf));
  ExplainedObject& added = objects_.emplace_back();
  added.title = title_of(object);
  // In the order of the object and not of the template, so that a later revision changes no order.
  for_each_leaf(object, [&](const std::string& pointer, const Json& value) {
    Explanation& leaf = added.leaves.emplace_back(std::move(by_pointer[pointer]));
    leaf.pointer = pointer;
    leaf.path = object_path(object, pointer);
    leaf.value = value;
  });
}

void Explanations::revise_last(const Json& object, const Reason& reason) {
  ExplainedObject& last = objects_.back();
  std::map<std::string, Explanation> by_path;
  for (Explanation& leaf : last.leaves) by_path.emplace(leaf.path, std::move(leaf));
  last.leaves.clear();
  last.title = title_of(object);
  for_each_leaf(object, [&](const std::string& pointer, const Json& value) {
    Explanation& leaf = last.leaves.emplace_back();
    leaf.path = object_path(object, pointer);
    const auto before = by_path.find(leaf.path);
    if (before != by_path.end() && before->second.value == value)
      leaf = std::move(before->second);
    else
      leaf.reason = reason;
    leaf.pointer = pointer;
    leaf.value = value;
  });
}

bool is_under(const Explanation& leaf, std::string_view path) {
  return path.empty() || path_is_under(leaf.path, leaf.pointer, path);
}

std::string to_text(const Explanations& explanations, std::string_view path) {
  std::string text;
  for (const ExplainedObject& object : explanations.objects()) {
    std::string lines;
    for (const Explanation& leaf : object.leaves) {
      if (!is_under(leaf, path)) continue;
      lines += "  " + leaf.path + ": " + shown(leaf.value);
      if (!leaf.origin.place.empty()) lines += "  ← " + shown(leaf.origin);
      if (leaf.reason) lines += "  ← " + shown(*leaf.reason);
      lines += "\n";
    }
    if (!lines.empty()) text += object.title + "\n" + lines;
  }
  return text;
}

Json to_json(const Explanations& explanations, std::string_view path) {
  Json json = Json::array();
  for (const ExplainedObject& object : explanations.objects()) {
    Json leaves = Json::array();
    for (const Explanation& leaf : object.leaves) {
      if (is_under(leaf, path)) leaves.push_back(to_json(leaf));
    }
    if (!leaves.empty()) json.push_back({{"object", object.title}, {"leaves", std::move(leaves)}});
  }
  return json;
}

}  // namespace inference::render
