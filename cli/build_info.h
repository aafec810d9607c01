#pragma once

#include <string_view>

namespace inference::cli {

/// What was built, as known when the build was configured.
struct BuildInfo {
  std::string_view version;  // the project's
  std::string_view commit;   // 12 hex digits, "unknown" outside a git checkout
};

[[nodiscard]] BuildInfo build_info();

}  // namespace inference::cli
