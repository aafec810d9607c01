#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "base/json.h"
#include "render/explanations.h"
#include "render/holes.h"
#include "render/template_set.h"

namespace inference::render {

/// The tree of `file` with its holes filled: `fill(set, "deployment.yaml", holes_of(deployment, pod))`.
///
/// Values enter as JSON after the YAML was parsed, so no value can change the shape around it. A mapping or list whose
/// every entry was dropped stays, empty; who wants it gone makes it one `!optional` hole. With `explain`, every leaf of
/// the result is recorded there as one new object; null costs nothing. Thread-safe.
///
/// Errors (a hole that is not offered or of the wrong shape, a SubTemplate of an unknown file) are those that lint with
/// schemas finds before: a fault of the program, never of a user.
[[nodiscard]] std::expected<Json, std::string> fill(const TemplateSet& templates, std::string_view file,
                                                    const Holes& holes, Explanations* explain = nullptr);

}  // namespace inference::render
