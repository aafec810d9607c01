#pragma once

#include "render/findings.h"
#include "render/resolve.h"

namespace inference::render {

/// Refuses every field of the API that is not rendered yet, by path and with what works instead: nothing asked for is
/// silently ignored.
void check_support(const Settings& settings, Findings& findings);

}  // namespace inference::render
