#include "render/decide/pod_template.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "crd/quantity.h"
#include "render/labels.h"

namespace inference::render {

namespace {

constexpr std::string_view kDirective = "$patch";

/// The key by which the items of a list are told apart (patchMergeKey in k8s.io/api/core/v1); empty for a list that is
/// replaced.
std::string_view merge_key(std::string_view list) {
  struct Entry {
    std::string_view list, key;
  };
  static constexpr std::array<Entry, 14> kKeys{{{"containers", "name"},
                                                {"initContainers", "name"},
                                                {"volumes", "name"},
                                                {"env", "name"},
                                                {"volumeMounts", "mountPath"},
                                                {"volumeDevices", "devicePath"},
                                                {"ports", "containerPort"},
                                                {"imagePullSecrets", "name"},
                                                {"hostAliases", "ip"},
                                                {"resourceClaims", "name"},
                                                {"claims", "name"},
                                                {"readinessGates", "conditionType"},
                                                {"schedulingGates", "name"},
                                                {"topologySpreadConstraints", "topologyKey"}}};
  const auto* entry = std::ranges::find(kKeys, list, &Entry::list);
  return entry == kKeys.end() ? std::string_view() : entry->key;
}

/// What stands under a key, whatever shape the value around it has; null when nothing does.
const Json& child(const Json& object, const char* key) {
  static const Json kNothing;
  if (!object.is_object()) return kNothing;
  const auto found = object.find(key);
  return found == object.end() ? kNothing : *found;
}

bool is_deletion(const Json& value) {
  return value.is_object() && value.contains(kDirective) && value[kDirective] == "delete";
}

void merge_value(Json& target, const Json& patch, std::string_view key);

void merge_object(Json& target, const Json& patch) {
  if (!target.is_object()) target = Json::object();
  for (const auto& [key, value] : patch.items()) {
    if (value.is_null() || is_deletion(value)) {
      target.erase(key);
    } else {
      merge_value(target[key], value, key);
    }
  }
}

void merge_keyed_list(Json& target, const Json& patch, std::string_view key) {
  for (const Json& item : patch) {
    const auto present = std::ranges::find_if(
        target, [&](const Json& other) { return other.is_object() && other.value(key, Json()) == item[key]; });
    if (is_deletion(item)) {
      if (present != target.end()) target.erase(present);
    } else if (present != target.end()) {
      merge_object(*present, item);
    } else {
      Json added = Json::object();
      merge_object(added, item);
      target.push_back(std::move(added));
    }
  }
}

void merge_value(Json& target, const Json& patch, std::string_view key) {
  if (patch.is_object()) {
    merge_object(target, patch);
    return;
  }
  if (patch.is_array() && (target.is_array() || target.is_null())) {
    const std::string_view item_key = merge_key(key);
    const bool keyed = !item_key.empty() && std::ranges::all_of(patch, [&](const Json& item) {
      return item.is_object() && item.contains(item_key);
    });
    if (target.is_null()) target = Json::array();
    if (keyed) {
      merge_keyed_list(target, patch, item_key);
      return;
    }
    if (key == "tolerations") {
      // Replacing ours would keep the pod off every GPU node.
      for (const Json& item : patch) {
        if (std::ranges::find(target, item) == target.end()) target.push_back(item);
      }
      return;
    }
  }
  target = patch;
}

/// Directives of strategic merge that are not understood here, anywhere in the patch.
void check_directives(const Json& patch, const std::string& path, Findings& findings) {
  if (patch.is_array()) {
    for (std::size_t i = 0; i < patch.size(); ++i)
      check_directives(patch[i], path + "[" + std::to_string(i) + "]", findings);
    return;
  }
  if (!patch.is_object()) return;
  for (const auto& [key, value] : patch.items()) {
    const bool known = key == kDirective && value == "delete";
    if (key.starts_with('$') && !known) {
      findings.refuse("NotSupported", path + "." + key, "only $patch: delete is understood");
    } else {
      check_directives(value, path + "." + key, findings);
    }
  }
}

void check_labels(const Json& metadata, const std::string& path, Findings& findings) {
  static constexpr std::array kOurs{kManagedByLabel, kAppNameLabel, kComponentLabel, kNameLabel, kGangLabel};
  const Json labels = metadata.value("labels", Json());
  if (!labels.is_object()) return;
  for (const auto& [key, value] : labels.items()) {
    const bool ours = std::ranges::find(kOurs, key) != kOurs.end();
    if (ours || key.starts_with("leaderworkerset.sigs.k8s.io/")) {
      findings.refuse("InvalidSpec", path + ".metadata.labels." + key,
                      "selectors use this label: it cannot be changed");
    }
  }
}

void check_containers(const Json& spec, const std::string& path, Findings& findings) {
  for (const char* list : {"containers", "initContainers"}) {
    const Json containers = spec.value(list, Json());
    if (!containers.is_array()) continue;  // told with the other types
    for (std::size_t i = 0; i < containers.size(); ++i) {
      const std::string place = path + ".spec." + list + "[" + std::to_string(i) + "]";
      const Json& container = containers[i];
      const Json& name = child(container, "name");
      if (name.is_null()) {
        findings.refuse("InvalidSpec", place + ".name", "is needed: containers are merged by name, and ours is engine");
      } else if (name == "engine" && is_deletion(container)) {
        findings.refuse("InvalidSpec", place, "the engine cannot be removed");
      }
    }
  }
}

/// A quantity may be written as text or as a number (`0.5`); nothing for what is neither.
std::optional<crd::Quantity> as_quantity(const Json& value) {
  if (!value.is_string() && !value.is_number()) return std::nullopt;
  const auto parsed = crd::Quantity::parse(value.is_string() ? value.get<std::string>() : value.dump());
  return parsed ? std::optional(*parsed) : std::nullopt;
}

bool equal_quantities(const Json& a, const Json& b) {
  if (a == b) return true;
  const auto left = as_quantity(a);
  const auto right = as_quantity(b);
  return left && right && *left == *right;
}

/// Why the container would make the pod Burstable; empty when it would not.
std::string burstable(const Json& container) {
  const Json& limits = child(child(container, "resources"), "limits");
  const Json& requests = child(child(container, "resources"), "requests");
  for (const char* name : {"cpu", "memory"}) {
    const Json& limit = child(limits, name);
    const Json& request = child(requests, name);
    if (limit.is_null()) return std::string("has no limit of ") + name;
    if (!request.is_null() && !equal_quantities(request, limit)) {
      return std::string("requests another amount of ") + name + " than its limit";
    }
  }
  return {};
}

void check_container(const Json& container, const std::string& list, Findings& findings) {
  const Json& name = child(container, "name");
  const std::string path = list + "[name=" + (name.is_string() ? name.get<std::string>() : name.dump()) + "]";
  const std::string fault = burstable(container);
  if (!fault.empty()) {
    findings.refuse("InvalidSpec", path + ".resources",
                    fault +
                        ": the pod would be Burstable and the engine would lose its exclusive CPUs; give limits of cpu "
                        "and memory, and no other requests");
  }
  for (const Json& variable : child(container, "env")) {
    const Json& value = child(variable, "value");
    if (child(variable, "name") != "GLOO_SOCKET_IFNAME" || !value.is_string()) continue;
    const std::string& text = value.get_ref<const std::string&>();
    if (text.starts_with('^') || text.find(',') != std::string::npos) {
      findings.refuse("InvalidSpec", path + ".env[name=GLOO_SOCKET_IFNAME].value",
                      "takes the name of one interface; only NCCL understands ^ and lists");
    }
  }
}

}  // namespace

void merge_pod_template(Json& pod, const Json& patch) {
  merge_object(pod, patch);
}

void check_pod_template(const Setting<Json>& patch, crd::UnknownFields unknown, Findings& findings) {
  for (const auto& [key, value] : patch.value.items()) {
    if (key != "metadata" && key != "spec") {
      findings.refuse("InvalidSpec", patch.path + "." + key, "unknown field: a pod template has metadata and spec");
    } else if (!value.is_object()) {
      findings.refuse("InvalidSpec", patch.path + "." + key, "must be an object");
    } else if (key == "metadata") {
      check_labels(value, patch.path, findings);
    } else {
      for (crd::FieldError& fault : crd::check_pod_spec(value, patch.path + ".spec", unknown))
        findings.refuse("InvalidSpec", std::move(fault.path), std::move(fault.message));
      check_containers(value, patch.path, findings);
    }
  }
  check_directives(patch.value, patch.path, findings);
}

void check_merged_pod(const Json& pod, std::int64_t grace_period, Findings& findings) {
  const Json& spec = child(pod, "spec");
  bool has_engine = false;
  for (const char* list : {"containers", "initContainers"}) {
    const Json& containers = child(spec, list);
    if (!containers.is_array()) continue;
    for (const Json& container : containers) {
      check_container(container, std::string("spec.podTemplate.spec.") + list, findings);
      has_engine = has_engine || (list == std::string_view("containers") && child(container, "name") == "engine");
    }
  }
  if (!has_engine) {
    findings.refuse("InvalidSpec", "spec.podTemplate.spec.containers", "the engine cannot be removed");
    return;
  }
  const Json& grace = child(spec, "terminationGracePeriodSeconds");
  if (!grace.is_number_integer() || grace.get<std::int64_t>() < grace_period) {
    findings.notice("ShortGracePeriod", "spec.podTemplate.spec.terminationGracePeriodSeconds",
                    "SIGKILL comes before the drain ends: " + std::to_string(grace_period) + " s are needed");
  }
}

}  // namespace inference::render
