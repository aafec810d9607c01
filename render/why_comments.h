#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/yaml_reader.h"

namespace inference::render {

/// The text of one `# why: …` or `# why[ref]: …` comment.
struct WhyComment {
  std::string text;      // lines that follow in the same comment are joined by a space
  std::string ref;       // empty when there is none
  std::size_t line = 0;  // 1-based, where it begins
};

/// All reasons in a template's text, by the line that they speak about. YAML readers drop comments, so they are read
/// from the raw text, and only where the parsed tree says that a key or an item starts: a `#` in a block scalar or in
/// quotes is never taken for one.
struct WhyComments {
  std::map<std::size_t, WhyComment> above;     // alone on the lines directly above a line on which a key or item starts
  std::map<std::size_t, WhyComment> trailing;  // at the end of such a line
  /// Malformed reasons and reasons that stand above nothing: line and what is wrong.
  std::vector<std::pair<std::size_t, std::string>> faults;
};

[[nodiscard]] WhyComments scan_why_comments(std::string_view text, const YamlNode& root);

}  // namespace inference::render
