#pragma once

#include <span>
#include <string_view>

#include "base/json.h"

namespace inference::crd {

/// The C++ twin of one CEL rule of the CRDs, found by where the rule stands and its message.
struct Rule {
  /// Where the rule stands: "" for the object, else a path such as "spec.engine.env[*]". The same for what stands under
  /// an InferenceProfile's spec.defaults.
  std::string_view scope;
  std::string_view message;
  /// Whether the value at the scope keeps the rule. A value that the schema refuses (a text where a number is wanted)
  /// keeps every rule: it has its own error already.
  bool (*holds)(const Json& self);
};

/// All of them, in the order of the CRDs.
[[nodiscard]] std::span<const Rule> rules();

/// Null when there is none.
[[nodiscard]] const Rule* find_rule(std::string_view scope, std::string_view message);

}  // namespace inference::crd
