#include "render/template_tree.h"

#include <algorithm>
#include <utility>

namespace inference::render {

namespace {

std::string place(const std::string& file, std::size_t line) {
  std::string text = "templates/" + file;
  if (line != 0) text += ":" + std::to_string(line);
  return text;
}

}  // namespace

const TemplateNode* TemplateNode::find(std::string_view child_key) const {
  if (kind != Kind::kMapping) return nullptr;
  const auto child = std::ranges::find(children, child_key, &TemplateNode::key);
  return child == children.end() ? nullptr : &*child;
}

std::string to_string(const TemplateFault& fault) {
  return place(fault.file, fault.line) + ": " + fault.message;
}

std::string place_of(const Template& file, const TemplateNode& node) {
  return place(file.file, node.line);
}

Reason reason_of(const Template& file, const TemplateNode& node, std::string_view rule,
                 std::vector<std::string> inputs) {
  return {
      .rule = std::string(rule), .text = node.why.text, .inputs = std::move(inputs), .source = place_of(file, node)};
}

}  // namespace inference::render
