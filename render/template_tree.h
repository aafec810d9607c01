#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "render/traced.h"

namespace inference::render {

/// Why a line exists: the text of its `# why: …` or `# why[ref]: …` comment, own or inherited from the node above it.
struct Why {
  std::string text = {};
  std::string ref = {};  // "KEP-753", "sec 7.4" …; empty when none was given
  std::size_t line = 0;  // of the node whose comment it is; 0 when there is no reason at all (a lint fault)
  bool own = false;      // false when inherited
};

/// One node of a parsed template, in the order of the text: a constant, a hole, or a collection of both. Pure data,
/// never changed after load.
struct TemplateNode {
  enum class Kind {
    kScalar,
    kMapping,
    kSequence,
    kValue,     // !value name
    kOptional,  // !optional name: the key or the list item is dropped when absent
    kSplice,    // !splice name: items into the list around it
    kInclude,   // !include file: that file's tree, sharing this file's holes
  };

  Kind kind = Kind::kScalar;
  std::string key;       // in a mapping
  std::string name;      // of the hole; of the file for kInclude
  std::size_t line = 0;  // 1-based, of the key or the list item
  Why why;
  std::vector<TemplateNode> children;      // of a mapping or a sequence
  bool constant = false;                   // no hole below: `json` is the whole subtree
  Json json;                               // only when `constant`
  const TemplateNode* included = nullptr;  // kInclude: the root of that file, owned by the same TemplateSet

  /// The child of that key; null when there is none or this is no mapping.
  [[nodiscard]] const TemplateNode* find(std::string_view child_key) const;
};

/// A parsed file of templates/: a tree with holes, or (without any tag) plain data as the engine files are. In data
/// every node is `constant`: read `json` for values, `children` for the order of the text, and reason_of for what to
/// say about a value taken from it.
struct Template {
  std::string file;  // relative to templates/: "deployment.yaml", "engines/vllm.yaml"
  TemplateNode root;
};

/// One thing that is wrong with a template, placed.
struct TemplateFault {
  std::string file;
  std::size_t line = 0;  // 1-based; 0 when the whole file is meant
  std::string message;
  friend bool operator==(const TemplateFault&, const TemplateFault&) = default;
};

/// "templates/deployment.yaml:12: message".
[[nodiscard]] std::string to_string(const TemplateFault& fault);

/// "templates/engines/vllm.yaml:31".
[[nodiscard]] std::string place_of(const Template& file, const TemplateNode& node);

/// The reason for a value that `rule` took from that node of a data file: its why, and its place as the source.
[[nodiscard]] Reason reason_of(const Template& file, const TemplateNode& node, std::string_view rule,
                               std::vector<std::string> inputs = {});

}  // namespace inference::render
