#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "operator/client/resource.h"

namespace inference::reconcilers {

/// Every kind of object that we create for an InferenceDeployment. Informers, pruning and config/rbac follow from this
/// one list.
[[nodiscard]] std::span<const client::Resource> child_kinds();

/// Annotation with the SHA-256 of the object as we last applied it. A field that we no longer render can't be missed in
/// the live object, since others may have set it; the hash tells.
inline constexpr const char* kAppliedHashAnnotation = "inference-operator.dev/applied-hash";

/// `object` as it is applied: controlled by `owner` (an object of the API server, with its uid), and carrying its own
/// hash.
[[nodiscard]] Json as_child(Json object, const Json& owner);

/// Whether the object's controlling owner has this uid.
[[nodiscard]] bool is_controlled_by(const Json& object, std::string_view uid);

/// The first place in which `live` is not what `desired` says, as a path; nothing when `live` carries all of it. What
/// `live` holds beyond that belongs to others: defaults of the API server, fields of other managers. Quantities compare
/// by value ("1024Mi" is "1Gi"), lists with keys (containers, env …) by key.
[[nodiscard]] std::optional<std::string> first_difference(const Json& live, const Json& desired);

/// `Deployment llm/m`, for messages.
[[nodiscard]] std::string describe(const Json& object);

}  // namespace inference::reconcilers
