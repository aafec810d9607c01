#pragma once

#include "base/json.h"
#include "crd/pod_types.h"
#include "render/findings.h"
#include "render/resolve.h"

namespace inference::render {

/// Merges `patch` (a podTemplate) over a rendered pod template as a strategic-merge patch is: maps key by key, null
/// deletes, lists of named items by their key (containers and volumes by name, mounts by path, ports by number …),
/// `$patch: delete` removes such an item; tolerations are added, any other list replaces. `patch` must have passed
/// check_pod_template.
void merge_pod_template(Json& pod, const Json& patch);

/// Refuses what a podTemplate must not do: hold what no pod can hold (crd/pod_types.h), change the labels that
/// selectors use, remove or rename the engine, use other directives than `$patch: delete`.
void check_pod_template(const Setting<Json>& patch, crd::UnknownFields unknown, Findings& findings);

/// Checks a merged pod template: every container must keep the pod Guaranteed (limits of CPU and memory, requests equal
/// or absent), and what the drain counts on must still hold. Paths are those of the podTemplate.
void check_merged_pod(const Json& pod, std::int64_t grace_period, Findings& findings);

}  // namespace inference::render
