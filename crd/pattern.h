#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace inference::crd {

/// A regular expression as the API server takes it: a search, not a match of the whole text. Compiled at first use,
/// since that takes a tenth of a millisecond and an object meets few of the CRD's. Thread-safe.
///
/// The API server uses RE2 over code points, this is ECMAScript over bytes. The two agree on what the CRDs use: anchors
/// (`$` is the end of the text, not of a line), ASCII classes, groups, alternatives, counts. They differ on \A, \z,
/// (?i),
/// (?P<n>), \pL, possessive and lazy forms, and on classes that hold anything beyond ASCII; schema_test.cc keeps those
/// out of the CRDs.
class Pattern {
 public:
  explicit Pattern(std::string expression);
  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;
  ~Pattern();

  /// Throws std::regex_error at first use of an expression that is none.
  [[nodiscard]] bool found_in(std::string_view text) const;
  [[nodiscard]] const std::string& text() const { return expression_; }

 private:
  struct Compiled;
  std::string expression_;
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace inference::crd
