#pragma once

#include <string_view>

namespace inference {

/// The release that this is: "0.1.0".
[[nodiscard]] std::string_view version();

/// The git commit that it was built from, shortened, with "-dirty" when the tree had changes; "unknown" outside a
/// checkout.
[[nodiscard]] std::string_view git_commit();

}  // namespace inference
