#pragma once

#include <cstddef>
#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace inference {

/// Why a text is no YAML that we take, and where (1-based line and column; 0 when the whole text is meant).
struct YamlError {
  std::string message;
  std::size_t line = 0;
  std::size_t column = 0;
};

/// One node of a YAML document as written: order, tags, quoting and positions are kept, aliases are expanded.
struct YamlNode {
  enum class Kind { kNull, kScalar, kSequence, kMapping };
  struct Entry;

  Kind kind = Kind::kNull;
  std::string tag;              // as written, e.g. "!value"; empty when there is none
  std::string scalar;           // text of a scalar
  bool plain = false;           // a scalar without quotes and not a block scalar: its type is guessed from its text
  std::size_t line = 0;         // 1-based, of the value
  std::size_t column = 0;       // 1-based
  std::vector<YamlNode> items;  // of a sequence
  std::vector<Entry> entries;   // of a mapping, in the order of the text, keys are unique
};
struct YamlNode::Entry {
  std::string key;
  std::size_t key_line = 0;
  bool key_plain = false;
  YamlNode value;
};

/// What the reader refuses: a text larger than `bytes`, nested deeper than `depth`, or of more nodes than `nodes` after
/// aliases are expanded.
struct YamlLimits {
  std::size_t bytes = 3 * 1024 * 1024;  // the API server's own limit for a request body
  std::size_t depth = 100;
  std::size_t nodes = 200'000;
};

/// All documents of a YAML (or JSON) text; empty documents are left out. Refuses invalid UTF-8, NUL bytes, duplicate
/// keys, keys that are no scalars, merge keys (`<<`), alias bombs, and whatever exceeds `limits`.
[[nodiscard]] std::expected<std::vector<YamlNode>, YamlError> read_yaml(std::string_view text,
                                                                        const YamlLimits& limits = {});

/// A document's value and the line on which each part of it stands.
struct JsonDocument {
  Json value;
  /// JSON pointer ("/spec/nodes", "" for the root) → 1-based line of the key (of the item in a list).
  std::map<std::string, std::size_t, std::less<>> lines;
  /// The line of `pointer`, or of its nearest ancestor that is there.
  [[nodiscard]] std::size_t line_of(std::string_view pointer) const;
};

/// The value as kubectl would send it: plain scalars get their YAML 1.1 type as sigs.k8s.io/yaml gives it (`yes` and
/// `on` are booleans, `0123` is octal, `1e3` a number, `~` null; see yaml_scalar.h). NaN and infinities, which JSON has
/// not, are refused, and so are tags (`!!int`, `!!binary`): kubectl takes those, and merge keys, but who reads the file
/// takes them for something else. The error says what to write instead.
[[nodiscard]] std::expected<JsonDocument, YamlError> to_json(const YamlNode& node);

/// read_yaml and to_json for every document.
[[nodiscard]] std::expected<std::vector<JsonDocument>, YamlError> read_yaml_documents(std::string_view text,
                                                                                      const YamlLimits& limits = {});

}  // namespace inference
