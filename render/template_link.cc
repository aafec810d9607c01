#include <algorithm>
#include <cstdint>
#include <utility>

#include "render/template_lint.h"

namespace inference::render {

namespace {

using Kind = TemplateNode::Kind;

/// Nodes of one tree with all its includes in place. The largest real one has some 300.
constexpr std::size_t kMaxExpandedNodes = 5'000;

class Linker {
 public:
  Linker(TemplateMap& templates, std::vector<TemplateFault>& faults) : templates_(templates), faults_(faults) {}

  void link_all() {
    for (auto& [name, file] : templates_) link(file);
  }

 private:
  enum class State { kNew, kOpen, kDone };
  struct Progress {
    State state = State::kNew;
    std::size_t nodes = 0;  // of the expanded tree, once done
  };

  void link(Template& file) {
    Progress& progress = progress_[file.file];
    if (progress.state != State::kNew) return;
    progress.state = State::kOpen;
    progress.nodes = link_node(file, file.root);
    progress.state = State::kDone;
  }

  /// Returns the number of nodes of the expanded subtree.
  std::size_t link_node(const Template& file, TemplateNode& node) {
    switch (node.kind) {
      case Kind::kScalar:
        node.constant = true;
        return 1;
      case Kind::kValue:
      case Kind::kOptional:
      case Kind::kSplice:
        return 1;
      case Kind::kInclude:
        return link_include(file, node);
      case Kind::kMapping:
      case Kind::kSequence:
        return link_collection(file, node);
    }
    std::unreachable();
  }

  std::size_t link_include(const Template& file, TemplateNode& node) {
    const auto fault = [&](std::string message) {
      faults_.push_back({.file = file.file, .line = node.line, .message = std::move(message)});
      return std::size_t{1};
    };
    const auto target = templates_.find(node.name);
    if (target == templates_.end()) return fault("!include of " + node.name + ": there is no such file");
    link(target->second);
    const Progress& progress = progress_[node.name];
    if (progress.state == State::kOpen) return fault("!include of " + node.name + " leads back to this file");
    node.included = &target->second.root;
    return accept(file, node, 1 + progress.nodes, node.included->constant, [&] { return node.included->json; });
  }

  std::size_t link_collection(const Template& file, TemplateNode& node) {
    std::size_t nodes = 1;
    for (TemplateNode& child : node.children) nodes = std::min(nodes + link_node(file, child), kMaxExpandedNodes + 1);
    const bool constant = std::ranges::all_of(node.children, &TemplateNode::constant);
    return accept(file, node, nodes, constant, [&] {
      Json json = node.kind == Kind::kMapping ? Json::object() : Json::array();
      for (const TemplateNode& child : node.children) {
        if (node.kind == Kind::kMapping)
          json.emplace(child.key, child.json);
        else
          json.push_back(child.json);
      }
      return json;
    });
  }

  template <typename MakeJson>
  std::size_t accept(const Template& file, TemplateNode& node, std::size_t nodes, bool constant, MakeJson make_json) {
    if (nodes > kMaxExpandedNodes) {
      if (node.kind == Kind::kInclude) {
        faults_.push_back(
            {.file = file.file, .line = node.line, .message = "files include each other to more nodes than are taken"});
        return 1;
      }
      return nodes;
    }
    node.constant = constant;
    if (constant) node.json = make_json();
    return nodes;
  }

  TemplateMap& templates_;
  std::vector<TemplateFault>& faults_;
  std::map<std::string, Progress, std::less<>> progress_;
};

}  // namespace

void link_templates(TemplateMap& templates, std::vector<TemplateFault>& faults) {
  Linker(templates, faults).link_all();
}

}  // namespace inference::render
