#pragma once

#include <string>

#include "base/json.h"
#include "crd/field_error.h"
#include "crd/schema.h"

namespace inference::crd {

/// Everything by which `value` breaks `schema` and its rules, with paths that begin with `path`; empty when it is
/// right. Fields in the order of their names, one fault a path. At most 100 faults are listed, since a hostile object
/// could have a million. Texts from the object are quoted as JSON does and cut, so that they can't forge lines of a log
/// or a terminal.
///
/// Follows k8s.io/kube-openapi/pkg/validation and strict field validation, but goes on where those stop: the API server
/// looks neither at rules while the schema is broken nor at anything while there is an unknown field.
///
/// A null in a field that the schema knows is the same as no field (the API server drops it before it validates); in a
/// list it is an item of the wrong type. One known difference: the API server takes `8.0` for an integer but where the
/// scale subresource reads (`replicas`).
[[nodiscard]] FieldErrors validate(const Schema& schema, const Json& value, const std::string& path);

/// Only the fields of `value` that `schema` does not know, at most 100: what a strict API server refuses of a part that
/// it then drops (status, in a write that is not one of the status).
[[nodiscard]] FieldErrors unknown_fields(const Schema& schema, const Json& value, const std::string& path);

/// Removes the fields of `value` that are null and that the API server would not store. Below open fields
/// (podTemplate.spec) all stays.
void drop_nulls(const Schema& schema, Json& value);

}  // namespace inference::crd
