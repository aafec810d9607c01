#pragma once

#include <cstdint>
#include <string>

#include "render/decide/sizing.h"
#include "render/findings.h"
#include "render/resolve.h"

namespace inference::render {

/// Refuses a group's name for which Kueue could not name its Workloads. `surge` is in groups.
void check_queue_name(const std::string& name, const Sizing& sizing, std::int64_t surge, Findings& findings);

/// Says why the queue would admit nothing, and where it admits a group that the nodes can't hold. `requests` is what
/// one pod asks for, by resource.
void tell_of_queue(const Settings& settings, const QueueFacts& queue, const Json& requests, Findings& findings);

}  // namespace inference::render
