#pragma once

#include <regex>
#include <string>
#include <string_view>

namespace inference::crd {

/// A regular expression as the API server takes it: a search, not a match of the whole text. Immutable, safe to share
/// between threads.
///
/// The API server uses RE2 over code points, this is ECMAScript over bytes. The two agree on what the CRDs use: anchors
/// (`$` is the end of the text, not of a line), ASCII classes, groups, alternatives, counts. They differ on \A, \z,
/// (?i), (?P<n>), \pL, possessive and lazy forms, and on classes that hold anything beyond ASCII; schema_test.cc keeps
/// those out of the CRDs.
class Pattern {
 public:
  /// Throws std::regex_error for an expression that is none.
  explicit Pattern(const std::string& expression);
  [[nodiscard]] bool found_in(std::string_view text) const;

 private:
  std::regex regex_;
};

}  // namespace inference::crd
