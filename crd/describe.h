#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace inference::crd {

/// `text` as JSON quotes it but without the quotes, at most 64 bytes of it (cut between characters): it can't forge
/// lines of a log or a terminal.
[[nodiscard]] std::string quotable(std::string_view text);

/// What a value is, for the end of "must be …, not …": "a list", "the string \"128k\"", "the number 1.5".
[[nodiscard]] std::string describe(const Json& value);

}  // namespace inference::crd
