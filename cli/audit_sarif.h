#pragma once

#include <string>

#include "cli/audit_report.h"

namespace inference::cli {

/// The result as SARIF 2.1.0, for code hosts that show findings beside the lines. Ignored findings are there too, with
/// their reason, as suppressed.
[[nodiscard]] std::string audit_sarif(const AuditResult& result);

}  // namespace inference::cli
