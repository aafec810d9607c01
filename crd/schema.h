#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "crd/pattern.h"
#include "crd/rules.h"

namespace inference::crd {

struct Property;

/// One node of a structural schema (apiextensions.k8s.io/v1), compiled from the CRD's own text: the API server and we
/// judge by the same data. Immutable, safe to share between threads.
struct Schema {
  enum class Type { kAny, kObject, kArray, kString, kInteger, kBoolean, kIntOrString };

  struct AppliedRule {
    const Rule* rule;
    std::string field_path;  // where a breach is reported, relative to the node: ".maxSurge", or empty
  };

  Type type = Type::kAny;
  bool preserves_unknown_fields = false;
  std::vector<Property> properties;               // ordered by name
  std::unique_ptr<Schema> additional_properties;  // null: other fields are unknown fields
  std::unique_ptr<Schema> items;
  std::vector<std::string> required;
  std::vector<std::string> enumeration;    // empty: anything goes
  std::vector<std::string> list_map_keys;  // of which the items' values must differ; empty when the list is no map
  std::optional<std::int64_t> minimum;
  std::optional<std::int64_t> maximum;
  std::size_t min_length = 0;  // in code points, as max_length
  std::optional<std::size_t> max_length;
  std::optional<std::size_t> max_items;
  std::optional<std::size_t> max_properties;
  std::optional<Pattern> pattern;
  std::vector<AppliedRule> rules;

  /// Null when there is none of this name.
  [[nodiscard]] const Schema* property(std::string_view name) const;
  /// What a field of this name is checked by: its property, else additional_properties; null for an unknown field.
  [[nodiscard]] const Schema* child(std::string_view name) const;
};

/// One named field of an object.
struct Property {
  std::string name;
  Schema schema;
};

/// Compiles an openAPIV3Schema whose place is `scope` (see Rule::scope). Throws std::logic_error on a keyword that the
/// validator does not know and on a rule without a twin, so that nothing in a CRD can be silently left unchecked.
[[nodiscard]] Schema compile_schema(const Json& open_api, const std::string& scope);

/// The schemas of whole objects, compiled at first use. `metadata` is checked for unknown fields and types only,
/// `status` not at all.
[[nodiscard]] const Schema& inference_deployment_schema();
[[nodiscard]] const Schema& inference_profile_schema();

/// That of an InferenceDeployment's status; an InferenceProfile has none.
[[nodiscard]] const Schema& inference_deployment_status_schema();

}  // namespace inference::crd
