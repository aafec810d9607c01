#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "crd/field_error.h"

namespace inference::crd {

/// Whether a field that the table lacks is a fault. In a file it is one: most likely a typo. In a cluster it may be a
/// field of a newer Kubernetes than the table's, and the API server is there to judge it.
enum class UnknownFields { kRefuse, kPass };

/// What the pods of which Kubernetes may hold (pod_types.yaml): {kubernetes: "1.37", types: {PodSpec: {containers: list
/// of Container, …}, …}}. Read at the first call.
[[nodiscard]] const Json& pod_types();

/// The fields of `patch`, a patch over a PodSpec, whose values are of another type than Kubernetes', and the unknown
/// ones where they are refused. Paths begin with `path`; at most 100 faults are listed. Null and `{$patch: delete}`
/// delete a field, so they fit any. Values are not judged: which words a field takes may grow with each release.
[[nodiscard]] FieldErrors check_pod_spec(const Json& patch, const std::string& path, UnknownFields unknown);

}  // namespace inference::crd
