#include "reconcilers/children.h"

#include <algorithm>
#include <array>

#include "crd/inference_deployment.h"
#include "crd/quantity.h"
#include "operator/runtime/object_meta.h"
#include "render/sha256.h"

namespace inference::reconcilers {
namespace {

/// The field that identifies an item of a list that several managers may extend (listType=map in the API's schema);
/// empty for atomic lists.
std::string_view list_key(std::string_view list, const Json& item) {
  static constexpr std::string_view kByName[] = {"containers", "initContainers", "env",
                                                 "volumes",    "claims",         "resourceClaims"};
  if (std::ranges::find(kByName, list) != std::end(kByName)) return "name";
  if (list == "volumeMounts") return "mountPath";
  if (list == "ownerReferences") return "uid";
  if (list == "conditions") return "type";
  if (list == "ports" && item.is_object()) return item.contains("containerPort") ? "containerPort" : "port";
  return {};
}

/// Values that the API server drops when it stores an object (`omitempty`), so that their absence says the same.
bool is_empty_value(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return true;
    case Json::value_t::boolean:
      return !value.get<bool>();
    case Json::value_t::string:
      return value.get_ref<const std::string&>().empty();
    case Json::value_t::array:
      return value.empty();
    case Json::value_t::object:
      return std::ranges::all_of(value, is_empty_value);
    default:
      return value.is_number() && value == 0;
  }
}

/// Maps that the API takes as one value (x-kubernetes-map-type: atomic): a foreign key in them changes ours.
bool is_atomic(std::string_view key) {
  return key == "selector" || key == "nodeSelector";
}

bool is_quantity_field(std::string_view parent, std::string_view key) {
  return parent == "limits" || parent == "requests" || key == "sizeLimit";
}

bool same_quantity(const Json& live, const Json& desired) {
  const auto text = [](const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); };
  const auto left = crd::Quantity::parse(text(live));
  const auto right = crd::Quantity::parse(text(desired));
  return left && right && *left == *right;
}

std::optional<std::string> differs(const Json* live, const Json& desired, std::string_view parent, std::string_view key,
                                   const std::string& path);

std::optional<std::string> list_differs(const Json& live, const Json& desired, std::string_view key,
                                        const std::string& path) {
  for (std::size_t index = 0; index < desired.size(); ++index) {
    const Json& item = desired[index];
    const std::string_view item_key = list_key(key, item);
    const Json* match = nullptr;
    if (item_key.empty()) {
      if (live.size() != desired.size()) return path;
      match = &live[index];
    } else {
      const auto found = std::ranges::find_if(live, [&](const Json& other) {
        return other.is_object() && item.contains(item_key) && other.contains(item_key) &&
               other[std::string(item_key)] == item[std::string(item_key)];
      });
      if (found != live.end()) match = &*found;
    }
    if (auto difference = differs(match, item, key, {}, path + "[" + std::to_string(index) + "]")) return difference;
  }
  return live.size() > desired.size() && !desired.empty() && list_key(key, desired[0]).empty() ? std::optional(path)
                                                                                               : std::nullopt;
}

std::optional<std::string> differs(const Json* live, const Json& desired, std::string_view parent, std::string_view key,
                                   const std::string& path) {
  if (live == nullptr) return is_empty_value(desired) ? std::nullopt : std::optional(path);
  if (is_atomic(key) && *live != desired) return path;
  if (desired.is_object() && live->is_object()) {
    for (const auto& [name, value] : desired.items()) {
      const auto found = live->find(name);
      if (auto difference = differs(found == live->end() ? nullptr : &*found, value, key, name, path + "." + name))
        return difference;
    }
    return std::nullopt;
  }
  if (desired.is_array() && live->is_array()) return list_differs(*live, desired, key, path);
  if (*live == desired || desired.is_null()) return std::nullopt;
  if (is_quantity_field(parent, key) && same_quantity(*live, desired)) return std::nullopt;
  return path;
}

}  // namespace

std::span<const client::Resource> child_kinds() {
  using namespace client::resources;
  static const std::array kinds = {kConfigMap,      kService,  kPodDisruptionBudget, kResourceClaimTemplate,
                                   kComputeDomain,  kPodGroup, kVolcanoPodGroup,     kDeployment,
                                   kLeaderWorkerSet};
  return kinds;
}

Json as_child(Json object, const Json& owner) {
  Json& metadata = object["metadata"];
  metadata["ownerReferences"] = Json::array({{{"apiVersion", crd::kApiVersion},
                                              {"kind", crd::kInferenceDeploymentKind},
                                              {"name", owner["metadata"]["name"]},
                                              {"uid", owner["metadata"]["uid"]},
                                              {"controller", true},
                                              {"blockOwnerDeletion", true}}});
  std::string hash = render::sha256_hex(object.dump());
  metadata["annotations"][kAppliedHashAnnotation] = std::move(hash);
  return object;
}

bool is_controlled_by(const Json& object, std::string_view uid) {
  const auto owners = object.value("/metadata/ownerReferences"_json_pointer, Json::array());
  return std::ranges::any_of(owners, [&](const Json& owner) {
    return owner.is_object() && owner.value("controller", false) && owner.value("uid", "") == uid;
  });
}

std::optional<std::string> first_difference(const Json& live, const Json& desired) {
  auto difference = differs(&live, desired, {}, {}, "");
  if (difference && difference->starts_with('.')) difference->erase(0, 1);
  return difference;
}

std::string describe(const Json& object) {
  return object.value("kind", "object") + " " + runtime::ref_of(object).to_string();
}

}  // namespace inference::reconcilers
