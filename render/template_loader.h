#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "render/template_tree.h"

namespace inference::render {

/// Parses one file's text into its tree. Everything that is wrong with the text (YAML itself, tags, anchors, tabs,
/// ambiguous scalars, malformed reasons) is appended to `faults`; none only when there is no tree at all. Reasons are
/// attached and inherited; includes are not followed, and `constant` and `json` are not yet set: link_templates does
/// that.
[[nodiscard]] std::optional<Template> parse_template(std::string_view file, std::string_view text,
                                                     std::vector<TemplateFault>& faults);

}  // namespace inference::render
