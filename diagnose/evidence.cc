#include "diagnose/evidence.h"

#include <algorithm>

#include "base/json_members.h"
#include "base/json_pointer.h"

namespace inference::diagnose {
namespace {

std::vector<Json> list_at(const Json& document, const char* key) {
  std::vector<Json> list;
  for (const Json& item : member(document, key)) {
    if (item.is_object()) list.push_back(item);
  }
  return list;
}

}  // namespace

Json Evidence::to_json() const {
  Json missing = Json::array();
  for (const Unread& each : unread) missing.push_back({{"part", each.part}, {"why", each.why}});
  return {{"namespace", ns}, {"name", name},     {"object", object},        {"workload", workload}, {"pods", pods},
          {"nodes", nodes},  {"events", events}, {"podGroups", pod_groups}, {"unread", missing}};
}

Evidence Evidence::from_json(const Json& document) {
  Evidence evidence;
  evidence.ns = text_at(document, "namespace");
  evidence.name = text_at(document, "name");
  evidence.object = member(document, "object");
  evidence.workload = member(document, "workload");
  evidence.pods = list_at(document, "pods");
  evidence.nodes = list_at(document, "nodes");
  evidence.events = list_at(document, "events");
  evidence.pod_groups = list_at(document, "podGroups");
  for (const Json& item : list_at(document, "unread"))
    evidence.unread.push_back({text_at(item, "part"), text_at(item, "why")});
  return evidence;
}

std::string Evidence::condition(std::string_view type, const char* field) const {
  return text_at(condition_of(object, type), field);
}

std::int64_t Evidence::number(const char* pointer) const {
  const Json::json_pointer place(pointer);
  if (!object.is_object() || !object.contains(place)) return 0;
  const Json& value = object[place];
  return value.is_number_integer() ? value.get<std::int64_t>() : 0;
}

std::string Evidence::text(const char* pointer) const {
  const Json::json_pointer place(pointer);
  if (!object.is_object() || !object.contains(place) || !object[place].is_string()) return {};
  return object[place].get<std::string>();
}

std::string name_of(const Json& object) {
  return text_at(member(object, "metadata"), "name");
}

std::string node_of(const Json& pod) {
  return text_at(member(pod, "spec"), "nodeName");
}

bool is_leaving(const Json& object) {
  return !text_at(member(object, "metadata"), "deletionTimestamp").empty();
}

bool is_ready(const Json& pod) {
  return text_at(condition_of(pod, "Ready"), "status") == "True";
}

bool has_ended(const Json& pod) {
  const std::string phase = text_at(member(pod, "status"), "phase");
  return phase == "Failed" || phase == "Succeeded";
}

std::string refusal_of(const Json& pod) {
  const Json& placed = condition_of(pod, "PodScheduled");
  const bool refused = text_at(placed, "status") == "False" && text_at(placed, "reason") == "Unschedulable";
  return node_of(pod).empty() && refused ? text_at(placed, "message") : std::string();
}

std::string group_of(const Json& pod) {
  const Json& labels = member(member(pod, "metadata"), "labels");
  const std::string index = text_at(labels, "leaderworkerset.sigs.k8s.io/group-index");
  return index.empty() ? index : text_at(labels, "leaderworkerset.sigs.k8s.io/name") + "-" + index;
}

}  // namespace inference::diagnose
