#include "crd/schema.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "crd/embedded_crds.h"

namespace inference::crd {
namespace {

// What of metav1.ObjectMeta a user may write and the API server may send; the API server checks it by this type, not by
// the CRD. A real null stands for an absent value there (`creationTimestamp: null` is what kubectl prints), hence no
// types but where a mistake is likely.
constexpr std::string_view kObjectMetaSchema = R"({
  "type": "object", "required": ["name"], "properties": {
    "name": {"type": "string", "minLength": 1},
    "namespace": {"type": "string", "maxLength": 63, "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"},
    "labels": {"type": "object", "additionalProperties":
        {"type": "string", "maxLength": 63, "pattern": "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$"}},
    "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
    "generateName": {}, "uid": {}, "resourceVersion": {}, "generation": {}, "creationTimestamp": {}, "deletionTimestamp": {},
    "deletionGracePeriodSeconds": {}, "finalizers": {}, "ownerReferences": {}, "managedFields": {}, "selfLink": {}}})";

Schema::Type type_of(const Json& open_api) {
  if (open_api.value("x-kubernetes-int-or-string", false)) return Schema::Type::kIntOrString;
  const std::string name = open_api.value("type", std::string());
  if (name.empty()) return Schema::Type::kAny;
  constexpr std::array<std::pair<std::string_view, Schema::Type>, 5> kTypes = {{{"object", Schema::Type::kObject},
                                                                                {"array", Schema::Type::kArray},
                                                                                {"string", Schema::Type::kString},
                                                                                {"integer", Schema::Type::kInteger},
                                                                                {"boolean", Schema::Type::kBoolean}}};
  for (const auto& [known, type] : kTypes) {
    if (known == name) return type;
  }
  throw std::logic_error("a CRD's schema has the unknown type " + name);
}

// Under a profile's spec.defaults stands the shape of a deployment's spec, and the same rules with it.
std::string child_scope(const std::string& scope, const std::string& name) {
  if (scope == "spec" && name == "defaults") return scope;
  return scope.empty() ? name : scope + "." + name;
}

std::vector<Property> compile_properties(const Json& properties, const std::string& scope) {
  std::vector<Property> result;
  for (const auto& [name, child] : properties.items())
    result.push_back({name, compile_schema(child, child_scope(scope, name))});
  return result;
}

std::vector<Schema::AppliedRule> compile_rules(const Json& validations, const std::string& scope) {
  std::vector<Schema::AppliedRule> result;
  for (const Json& validation : validations) {
    const auto message = validation.at("message").get<std::string>();
    const Rule* rule = find_rule(scope, message);
    if (rule == nullptr) throw std::logic_error("a CEL rule has no twin: " + scope + ": " + message);
    result.push_back({rule, validation.value("fieldPath", std::string())});
  }
  return result;
}

// Sets what `keyword` says in `schema`; false when the keyword is none that the validator knows.
bool apply_keyword(Schema& schema, const std::string& keyword, const Json& value, const std::string& scope) {
  if (keyword == "properties") {
    schema.properties = compile_properties(value, scope);
  } else if (keyword == "additionalProperties") {
    schema.additional_properties = std::make_unique<Schema>(compile_schema(value, scope + ".*"));
  } else if (keyword == "items") {
    schema.items = std::make_unique<Schema>(compile_schema(value, scope + "[*]"));
  } else if (keyword == "required") {
    value.get_to(schema.required);
  } else if (keyword == "enum") {
    value.get_to(schema.enumeration);
  } else if (keyword == "x-kubernetes-list-map-keys") {
    value.get_to(schema.list_map_keys);
  } else if (keyword == "minimum") {
    schema.minimum = value.get<std::int64_t>();
  } else if (keyword == "maximum") {
    schema.maximum = value.get<std::int64_t>();
  } else if (keyword == "minLength") {
    schema.min_length = value.get<std::size_t>();
  } else if (keyword == "maxLength") {
    schema.max_length = value.get<std::size_t>();
  } else if (keyword == "maxItems") {
    schema.max_items = value.get<std::size_t>();
  } else if (keyword == "maxProperties") {
    schema.max_properties = value.get<std::size_t>();
  } else if (keyword == "pattern") {
    schema.pattern.emplace(value.get<std::string>());
  } else if (keyword == "x-kubernetes-preserve-unknown-fields") {
    schema.preserves_unknown_fields = value.get<bool>();
  } else if (keyword == "x-kubernetes-validations") {
    schema.rules = compile_rules(value, scope);
  } else {
    // The type was read first; the rest says nothing about which values are right.
    constexpr std::array<std::string_view, 5> kSilent = {"type", "description", "format", "x-kubernetes-int-or-string",
                                                         "x-kubernetes-list-type"};
    return std::ranges::find(kSilent, keyword) != kSilent.end();
  }
  return true;
}

Json open_api_of(std::string_view crd) {
  return Json::parse(crd).at("/spec/versions/0/schema/openAPIV3Schema"_json_pointer);
}

Schema compile_object(std::string_view crd) {
  Json open_api = open_api_of(crd);
  open_api["properties"]["metadata"] = Json::parse(kObjectMetaSchema);
  open_api["properties"]["status"] = Json::object();
  open_api["required"].push_back("metadata");
  return compile_schema(open_api, "");
}

}  // namespace

const Schema* Schema::property(std::string_view name) const {
  const auto found =
      std::ranges::lower_bound(properties, name, {}, [](const auto& entry) { return std::string_view(entry.name); });
  return found != properties.end() && found->name == name ? &found->schema : nullptr;
}

const Schema* Schema::child(std::string_view name) const {
  const Schema* known = property(name);
  return known != nullptr ? known : additional_properties.get();
}

Schema compile_schema(const Json& open_api, const std::string& scope) {
  Schema schema;
  schema.type = type_of(open_api);
  for (const auto& [keyword, value] : open_api.items()) {
    if (!apply_keyword(schema, keyword, value, scope)) {
      throw std::logic_error("a CRD's schema has the unknown keyword " + keyword + " at " + scope);
    }
  }
  return schema;
}

const Schema& inference_deployment_schema() {
  static const Schema schema = compile_object(kInferenceDeploymentsCrd);
  return schema;
}

const Schema& inference_profile_schema() {
  static const Schema schema = compile_object(kInferenceProfilesCrd);
  return schema;
}

const Schema& inference_deployment_status_schema() {
  static const Schema schema =
      compile_schema(open_api_of(kInferenceDeploymentsCrd).at("properties").at("status"), "status");
  return schema;
}

}  // namespace inference::crd
