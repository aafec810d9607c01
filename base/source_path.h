#pragma once

#include <string>
#include <string_view>

namespace inference {

/// Where a file of the source tree is, for tests that read one: `relative` is from the root, with no leading slash.
std::string source_path(std::string_view relative);

}  // namespace inference
