#include "render/fill.h"

#include <algorithm>
#include <utility>

#include "base/json_pointer.h"
#include "render/json_leaves.h"

namespace inference::render {

namespace {

using Kind = TemplateNode::Kind;

/// Walks a tree and the result in step. Pointers and leaves are only kept when somebody wants an explanation.
class Filler {
 public:
  Filler(const TemplateSet& templates, std::vector<Explanation>* leaves) : templates_(templates), leaves_(leaves) {}

  Json fill_file(const Template& file, const Holes& holes) {
    const Template* outer_file = std::exchange(file_, &file);
    const Holes* outer_holes = std::exchange(holes_, &holes);
    Json json = build(file.root);
    file_ = outer_file;
    holes_ = outer_holes;
    return json;
  }

  /// The first fault; empty when there was none. The result is then meaningless.
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  Json build(const TemplateNode& node) {
    if (node.constant && leaves_ == nullptr) return node.json;
    switch (node.kind) {
      case Kind::kScalar:
        explain_leaf(node, node.json, nullptr);
        return node.json;
      case Kind::kMapping:
        return build_mapping(node);
      case Kind::kSequence:
        return build_sequence(node);
      case Kind::kInclude:
        return build_include(node);
      case Kind::kValue:
      case Kind::kOptional:
      case Kind::kSplice:
        return build_hole(node);
    }
    std::unreachable();
  }

  Json build_mapping(const TemplateNode& node) {
    Json json = Json::object();
    auto& object = json.get_ref<Json::object_t&>();
    for (const TemplateNode& child : node.children) {
      if (child.kind == Kind::kOptional && is_absent(child)) continue;
      const auto token = enter(child.key);
      object.emplace(child.key, build(child));
      leave(token);
    }
    if (object.empty()) explain_leaf(node, json, nullptr);
    return json;
  }

  Json build_sequence(const TemplateNode& node) {
    Json json = Json::array();
    auto& array = json.get_ref<Json::array_t&>();
    array.reserve(node.children.size());
    for (const TemplateNode& child : node.children) {
      if (child.kind == Kind::kOptional && is_absent(child)) continue;
      if (child.kind == Kind::kSplice) {
        append_pieces(child, array);
        continue;
      }
      const auto token = enter(array.size());
      array.push_back(build(child));
      leave(token);
    }
    if (array.empty()) explain_leaf(node, json, nullptr);
    return json;
  }

  Json build_include(const TemplateNode& node) {
    const Template* outer = file_;
    if (leaves_ != nullptr) file_ = templates_.find(node.name);
    Json json = build(*node.included);
    file_ = outer;
    return json;
  }

  Json build_hole(const TemplateNode& node) {
    const HoleRef* hole = find(node);
    if (hole == nullptr) return nullptr;
    if (hole->shape == HoleShape::kList) {
      Json json = Json::array();
      append_pieces(node, json.get_ref<Json::array_t&>());
      if (json.empty()) explain_leaf(node, json, nullptr);
      return json;
    }
    if (hole->size(hole->member) == 0) return fail(node, "is absent");
    return build_piece(node, hole->piece(hole->member, 0));
  }

  void append_pieces(const TemplateNode& node, Json::array_t& array) {
    const HoleRef* hole = find(node);
    if (hole == nullptr) return;
    if (hole->shape != HoleShape::kList) {
      fail(node, "is no list");
      return;
    }
    const std::size_t size = hole->size(hole->member);
    array.reserve(array.size() + size);
    for (std::size_t i = 0; i < size; ++i) {
      const auto token = enter(array.size());
      array.push_back(build_piece(node, hole->piece(hole->member, i)));
      leave(token);
    }
  }

  Json build_piece(const TemplateNode& node, HolePiece piece) {
    if (!piece.file.empty()) {
      const Template* file = templates_.find(piece.file);
      if (file == nullptr) return fail(node, "is filled by " + std::string(piece.file) + ", which does not exist");
      // A file of our own program that fills its own hole would never end.
      if (depth_ == kMaxDepth) return fail(node, "fills itself");
      ++depth_;
      Json json = fill_file(*file, piece.nested);
      --depth_;
      return json;
    }
    if (leaves_ != nullptr) {
      for_each_leaf(piece.value, [&](const std::string& pointer, const Json& leaf) {
        const std::size_t size = pointer_.size();
        pointer_ += pointer;
        explain_leaf(node, leaf, nearest_reason(piece, pointer));
        pointer_.resize(size);
      });
    }
    return std::move(piece.value);
  }

  static const Reason* nearest_reason(const HolePiece& piece, std::string_view pointer) {
    const Reason* nearest = piece.reason;
    std::size_t longest = 0;
    for (const Part& part : piece.parts) {
      const bool above = pointer.starts_with(part.pointer) &&
                         (pointer.size() == part.pointer.size() || pointer[part.pointer.size()] == '/');
      if (!above || part.pointer.size() < longest) continue;
      longest = part.pointer.size();
      nearest = &part.reason;
    }
    return nearest;
  }

  const HoleRef* find(const TemplateNode& node) {
    const auto hole = std::ranges::lower_bound(*holes_, std::string_view(node.name), {}, &HoleRef::name);
    if (hole != holes_->end() && hole->name == node.name) return &*hole;
    fail(node, "is not offered");
    return nullptr;
  }

  bool is_absent(const TemplateNode& node) {
    const HoleRef* hole = find(node);
    return hole == nullptr || hole->size(hole->member) == 0;
  }

  Json fail(const TemplateNode& node, const std::string& fault) {
    if (error_.empty()) error_ = "hole " + node.name + " at line " + std::to_string(node.line) + " " + fault;
    return nullptr;
  }

  void explain_leaf(const TemplateNode& node, const Json& value, const Reason* reason) {
    if (leaves_ == nullptr) return;
    Explanation& leaf = leaves_->emplace_back();
    leaf.pointer = pointer_;
    leaf.value = value;
    leaf.origin = {.place = place_of(*file_, node), .why = node.why};
    if (reason != nullptr) leaf.reason = *reason;
  }

  /// Goes one step down in the pointer; returns what leave() needs to come back.
  std::size_t enter(const std::string& key) {
    const std::size_t size = pointer_.size();
    if (leaves_ != nullptr) append_pointer_token(pointer_, key);
    return size;
  }
  std::size_t enter(std::size_t index) {
    const std::size_t size = pointer_.size();
    if (leaves_ != nullptr) pointer_ += "/" + std::to_string(index);
    return size;
  }
  void leave(std::size_t size) { pointer_.resize(size); }

  static constexpr int kMaxDepth = 16;

  const TemplateSet& templates_;
  std::vector<Explanation>* leaves_;  // null when nobody wants an explanation
  const Template* file_ = nullptr;    // whose tree is being walked
  const Holes* holes_ = nullptr;
  std::string pointer_;
  std::string error_;
  int depth_ = 0;  // of SubTemplates in SubTemplates
};

}  // namespace

std::expected<Json, std::string> fill(const TemplateSet& templates, std::string_view file, const Holes& holes,
                                      Explanations* explain) {
  const Template* root = templates.find(file);
  if (root == nullptr) return std::unexpected("there is no template " + std::string(file));
  std::vector<Explanation> leaves;
  Filler filler(templates, explain == nullptr ? nullptr : &leaves);
  Json json = filler.fill_file(*root, holes);
  if (!filler.error().empty()) return std::unexpected("templates/" + std::string(file) + ": " + filler.error());
  if (explain != nullptr) explain->add(json, std::move(leaves));
  return json;
}

}  // namespace inference::render
