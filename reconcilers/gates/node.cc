#include "reconcilers/gates/node.h"

#include <algorithm>

#include "base/json_members.h"
#include "base/parse_integer.h"

namespace inference::reconcilers::gates {
namespace {

/// One requirement of a node selector term; `value` is null where the node has no such label.
bool meets(const Json& requirement, const std::string* value) {
  const std::string op = text_at(requirement, "operator");
  const Json values = requirement.value("values", Json::array());
  const bool among = value != nullptr && std::ranges::find(values, Json(*value)) != values.end();
  if (op == "In") return among;
  if (op == "NotIn") return !among;
  if (op == "Exists") return value != nullptr;
  if (op == "DoesNotExist") return value == nullptr;
  if ((op != "Gt" && op != "Lt") || value == nullptr || values.size() != 1 || !values[0].is_string()) return false;
  const auto has = parse_integer<std::int64_t>(*value);
  const auto bound = parse_integer<std::int64_t>(values[0].get_ref<const std::string&>());
  return has && bound && (op == "Gt" ? *has > *bound : *has < *bound);
}

bool matches(const Json& term, const Node& node) {
  const Json expressions = term.value("matchExpressions", Json::array());
  const Json fields = term.value("matchFields", Json::array());
  if (expressions.empty() && fields.empty()) return false;  // an empty term selects nothing
  const bool labels_match = std::ranges::all_of(expressions, [&](const Json& requirement) {
    const auto label = node.labels.find(text_at(requirement, "key"));
    return meets(requirement, label == node.labels.end() ? nullptr : label->get_ptr<const std::string*>());
  });
  return labels_match && std::ranges::all_of(fields, [&](const Json& requirement) {
           return text_at(requirement, "key") == "metadata.name" && meets(requirement, &node.name);
         });
}

bool tolerates(const Json& toleration, const Json& taint) {
  const std::string effect = text_at(toleration, "effect");
  if (!effect.empty() && effect != text_at(taint, "effect")) return false;
  const std::string key = text_at(toleration, "key");
  const std::string op = text_at(toleration, "operator");
  if (key.empty()) return op == "Exists";
  if (key != text_at(taint, "key")) return false;
  if (op == "Exists") return true;
  return (op.empty() || op == "Equal") && text_at(toleration, "value") == text_at(taint, "value");
}

/// Pods that every node has again at once when they are gone.
bool belongs_to_node(const Json& pod) {
  const Json owners = pod.value("/metadata/ownerReferences"_json_pointer, Json::array());
  return std::ranges::any_of(owners, [](const Json& owner) {
    const std::string kind = text_at(owner, "kind");
    return kind == "DaemonSet" || kind == "Node";
  });
}

}  // namespace

Needs needs_of(const Json& pod) {
  Needs needs{.requests = crd::requests_of(pod)};
  const Json spec = pod.value("spec", Json::object());
  needs.selector = spec.value("nodeSelector", Json::object());
  needs.terms = spec.value(
      "/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms"_json_pointer, Json());
  needs.tolerations = spec.value("tolerations", Json::array());
  return needs;
}

Node read_node(const Json& object) {
  Node node;
  node.name = object.value("/metadata/name"_json_pointer, "");
  node.labels = object.value("/metadata/labels"_json_pointer, Json::object());
  node.taints = object.value("/spec/taints"_json_pointer, Json::array());
  const bool ready = text_at(condition_of(object, "Ready"), "status") == "True";
  node.open = ready && !object.value("/spec/unschedulable"_json_pointer, false);
  node.most = crd::read_amounts(object.value("/status/allocatable"_json_pointer, Json::object()));
  node.free = node.most;
  return node;
}

void occupy(std::vector<Node>& nodes, const Json& pod) {
  const std::string name = pod.value("/spec/nodeName"_json_pointer, "");
  const std::string phase = pod.value("/status/phase"_json_pointer, "");
  if (name.empty() || phase == "Succeeded" || phase == "Failed") return;
  const auto node = std::ranges::lower_bound(nodes, name, {}, &Node::name);
  if (node == nodes.end() || node->name != name) return;
  const crd::Amounts requests = crd::requests_of(pod);
  subtract(node->free, requests);
  if (belongs_to_node(pod)) subtract(node->most, requests);
}

bool admits(const Node& node, const Needs& needs) {
  if (!node.open) return false;
  for (const auto& [key, value] : needs.selector.items()) {
    const auto label = node.labels.find(key);
    if (label == node.labels.end() || *label != value) return false;
  }
  if (needs.terms.is_array() &&
      std::ranges::none_of(needs.terms, [&](const Json& term) { return matches(term, node); })) {
    return false;
  }
  return std::ranges::all_of(node.taints, [&](const Json& taint) {
    if (text_at(taint, "effect") == "PreferNoSchedule") return true;
    return std::ranges::any_of(needs.tolerations, [&](const Json& toleration) { return tolerates(toleration, taint); });
  });
}

std::vector<std::string> fields_of_nodes() {
  return {"metadata.labels", "spec.taints", "spec.unschedulable", "status.allocatable", "status.conditions"};
}

std::vector<std::string> fields_of_occupants() {
  return {"metadata.ownerReferences",
          "spec.nodeName",
          "spec.overhead",
          "spec.resources",
          "spec.containers..resources",
          "spec.initContainers..resources",
          "spec.initContainers..restartPolicy",
          "status.phase"};
}

}  // namespace inference::reconcilers::gates
