// A template, and after a line `%%` the file part.yaml that it may include: loaded, its holes filled and explained.

#include <algorithm>
#include <set>

#include "base/fuzzing.h"
#include "render/explanations.h"
#include "render/fill.h"
#include "render/json_leaves.h"
#include "render/template_set.h"

namespace inference::render {
namespace {

constexpr std::string_view kSeparator = "\n%%\n";

std::size_t one(const void*) {
  return 1;
}
std::size_t two(const void*) {
  return 2;
}
HolePiece piece(const void*, std::size_t index) {
  static const Reason kReason{.rule = "fuzz", .text = "given"};
  return {.value = {{"index", index}, {"a/b", {1, "two", nullptr}}},
          .reason = &kReason,
          .parts = {},
          .file = {},
          .nested = {}};
}

HoleShape shape_of(TemplateNode::Kind kind) {
  if (kind == TemplateNode::Kind::kSplice) return HoleShape::kList;
  return kind == TemplateNode::Kind::kOptional ? HoleShape::kOptional : HoleShape::kValue;
}

/// Offers every hole that the tree names, in the shape that its first tag asks for.
void offer_holes(const TemplateNode& node, Holes& holes) {
  using Kind = TemplateNode::Kind;
  const bool hole = node.kind == Kind::kValue || node.kind == Kind::kOptional || node.kind == Kind::kSplice;
  if (hole && std::ranges::find(holes, std::string_view(node.name), &HoleRef::name) == holes.end()) {
    const HoleShape shape = shape_of(node.kind);
    holes.push_back({.name = node.name,
                     .shape = shape,
                     .member = nullptr,
                     .size = shape == HoleShape::kList ? two : one,
                     .piece = piece});
  }
  for (const TemplateNode& child : node.children) offer_holes(child, holes);
  if (node.included != nullptr) offer_holes(*node.included, holes);
}

void check_explanations(const Json& json, const Explanations& explanations) {
  std::set<std::string> explained;
  for (const Explanation& leaf : explanations.objects().front().leaves) {
    if (!explained.insert(leaf.pointer).second) broken("a leaf is explained once", leaf.pointer);
    if (leaf.origin.place.empty()) broken("a leaf comes from a line", leaf.pointer);
  }
  std::size_t leaves = 0;
  for_each_leaf(json, [&](const std::string& pointer, const Json&) {
    ++leaves;
    if (!explained.contains(pointer)) broken("each leaf is explained", pointer);
  });
  if (leaves != explained.size()) broken("only leaves are explained");
  (void)to_text(explanations);
}

void check_faults(const std::vector<TemplateFault>& faults, const std::map<std::string, std::string>& files) {
  if (faults.empty()) broken("a set that is refused has a fault");
  for (const TemplateFault& fault : faults) {
    const auto file = files.find(fault.file);
    if (file == files.end() || fault.message.empty())
      broken("a fault names its file and what is wrong", to_string(fault));
    const auto breaks = std::ranges::count_if(file->second, [](char c) { return c == '\n' || c == '\r'; });
    if (fault.line > static_cast<std::size_t>(breaks) + 2) broken("a fault stands in its file", to_string(fault));
  }
}

void check(std::string_view text) {
  const std::size_t end = text.find(kSeparator);
  std::map<std::string, std::string> files = {{"t.yaml", std::string(text.substr(0, end))}};
  if (end != std::string_view::npos) files["part.yaml"] = text.substr(end + kSeparator.size());
  const auto set = TemplateSet::load(files);
  if (!set) return check_faults(set.error(), files);
  const TemplateNode& root = set->find("t.yaml")->root;
  Holes holes;
  offer_holes(root, holes);
  std::ranges::sort(holes, {}, &HoleRef::name);
  Explanations explanations;
  const auto plain = fill(*set, "t.yaml", holes);
  const auto with_reasons = fill(*set, "t.yaml", holes, &explanations);
  // One name under two tags may ask for two shapes; lint with schemas finds that.
  if (!plain) {
    if (with_reasons) broken("explaining changes nothing", plain.error());
    return;
  }
  if (!with_reasons || *with_reasons != *plain) broken("explaining changes nothing", plain->dump());
  if (root.constant && *plain != root.json) broken("a constant tree is its own value", plain->dump());
  check_explanations(*plain, explanations);
}

}  // namespace
}  // namespace inference::render

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  inference::render::check(inference::fuzz_text(data, size));
  return 0;
}
