#include "e2e/recorded_state.h"

#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "base/json_members.h"
#include "base/source_path.h"

namespace inference::e2e {
namespace {

/// Only these members, as far as they are there.
Json only(const Json& object, std::initializer_list<const char*> members) {
  Json kept = Json::object();
  for (const char* name : members) {
    if (object.contains(name)) kept[name] = object[name];
  }
  return kept;
}

Json reduced_metadata(const Json& object) {
  return only(member(object, "metadata"), {"name", "namespace", "labels", "uid", "generation", "creationTimestamp",
                                           "deletionTimestamp", "finalizers"});
}

Json reduced_pod(const Json& pod) {
  Json kept = pod;
  kept["metadata"] = reduced_metadata(pod);
  for (const char* address : {"podIP", "podIPs", "hostIP", "hostIPs", "qosClass", "startTime"})
    kept["status"].erase(address);
  return kept;
}

Json reduced_node(const Json& node) {
  Json kept = node;
  kept["metadata"] = only(member(node, "metadata"), {"name", "labels"});
  kept["status"]["allocatable"] = only(member(member(node, "status"), "allocatable"), {"nvidia.com/gpu"});
  Json conditions = Json::array();
  for (const Json& condition : member(member(node, "status"), "conditions")) {
    if (text_at(condition, "type") == "Ready") conditions.push_back(only(condition, {"type", "status", "reason"}));
  }
  kept["status"]["conditions"] = std::move(conditions);
  return kept;
}

/// Of events that repeat one another, one.
std::vector<Json> reduced_events(const std::vector<Json>& events) {
  std::map<std::string, Json> last;
  for (const Json& event : events) {
    Json kept = only(event, {"reason", "note", "type"});
    kept["regarding"] = only(member(event, "regarding"), {"kind", "name"});
    last[text_at(event, "reason") + member(event, "regarding").dump()] = std::move(kept);
  }
  std::set<Json> unique;
  for (auto& [key, event] : last) unique.insert(std::move(event));
  return {unique.begin(), unique.end()};
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

/// What of `text` matches, each once, as it comes.
std::vector<std::string> matches(const std::string& text, const std::regex& pattern) {
  std::vector<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match) {
    if (std::ranges::find(found, match->str()) == found.end()) found.push_back(match->str());
  }
  return found;
}

/// Every match of `pattern`, as it comes or sorted, becomes what `name` makes of its number.
enum class Order { kAsItComes, kSorted };
void number(std::string& text, const std::regex& pattern, Order order,
            const std::function<std::string(std::size_t)>& name) {
  std::vector<std::string> found = matches(text, pattern);
  if (order == Order::kSorted) std::ranges::sort(found);
  for (std::size_t i = 0; i < found.size(); ++i) replace_all(text, found[i], name(i));
}

std::string padded(std::size_t number, int width) {
  std::string digits = std::to_string(number);
  return std::string(
             static_cast<std::size_t>(width) - std::min<std::size_t>(digits.size(), static_cast<std::size_t>(width)),
             '0') +
         digits;
}

/// The hashes in pods' labels, longest first, so that none is replaced in the middle of another.
std::vector<std::string> hashes(const diagnose::Evidence& evidence) {
  std::set<std::string> found;
  for (const Json& pod : evidence.pods) {
    for (const char* label : {"pod-template-hash", "controller-revision-hash", "leaderworkerset.sigs.k8s.io/group-key",
                              "leaderworkerset.sigs.k8s.io/template-revision-hash"}) {
      const std::string value = text_at(member(member(pod, "metadata"), "labels"), label);
      if (!value.empty()) found.insert(value);
    }
  }
  std::vector<std::string> all(found.begin(), found.end());
  std::ranges::stable_sort(all, std::ranges::greater(), &std::string::size);
  return all;
}

std::string scrub_text(std::string text, const diagnose::Evidence& evidence) {
  replace_all(text, evidence.ns, "llm");
  // Pods and ReplicaSets of a Deployment; their hashes have no vowels. How many pods were tried in vain depends on
  // time.
  const std::regex pod(R"(\bm-[bcdf-hj-np-tv-z0-9]{6,10}-[bcdf-hj-np-tv-z0-9]{5}\b)");
  for (const std::string& name : matches(text, pod)) {
    if (std::ranges::find(evidence.pods, name, diagnose::name_of) == evidence.pods.end())
      replace_all(text, name, "m-hash-gone");
  }
  number(text, pod, Order::kAsItComes, [](std::size_t i) { return "m-hash-pod" + std::to_string(i + 1); });
  const auto known = hashes(evidence);
  for (std::size_t i = 0; i < known.size(); ++i) replace_all(text, known[i], "hash" + std::to_string(i + 1));
  number(text, std::regex(R"(\bm-[bcdf-hj-np-tv-z0-9]{6,10}\b)"), Order::kAsItComes,
         [](std::size_t i) { return "m-set" + std::to_string(i + 1); });
  number(text, std::regex(R"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"), Order::kAsItComes,
         [](std::size_t i) { return "uid-" + std::to_string(i + 1); });
  number(text, std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z)"), Order::kSorted,
         [](std::size_t i) { return "2000-01-01T00:" + padded(i / 60, 2) + ":" + padded(i % 60, 2) + "Z"; });
  // How many nodes there are depends on the cluster.
  text = std::regex_replace(text, std::regex(R"(0/\d+ nodes are)"), "0/9 nodes are");
  text = std::regex_replace(text, std::regex(R"(\d+ node\(s\) didn't match)"), "8 node(s) didn't match");
  text = std::regex_replace(text, std::regex(R"(\d+ Preemption is not helpful)"), "9 Preemption is not helpful");
  text = std::regex_replace(text, std::regex(R"(\d+ No preemption victims)"), "1 No preemption victims");
  return std::regex_replace(text, std::regex(R"("resourceVersion":"\d+")"), R"("resourceVersion":"1")");
}

}  // namespace

diagnose::Evidence scrub(const diagnose::Evidence& evidence) {
  diagnose::Evidence kept = evidence;
  if (kept.object.is_object()) kept.object["metadata"] = reduced_metadata(evidence.object);
  if (kept.workload.is_object()) {
    kept.workload = only(evidence.workload, {"apiVersion", "kind", "status"});
    kept.workload["metadata"] = only(evidence.workload["metadata"], {"name", "generation"});
  }
  for (Json& pod : kept.pods) pod = reduced_pod(pod);
  std::erase_if(kept.nodes, [&](const Json& node) { return !diagnose::name_of(node).starts_with(evidence.ns); });
  for (Json& node : kept.nodes) node = reduced_node(node);
  for (Json& group : kept.pod_groups) group["metadata"] = only(member(group, "metadata"), {"name"});
  kept.events = reduced_events(evidence.events);
  return diagnose::Evidence::from_json(Json::parse(scrub_text(kept.to_json().dump(), evidence)));
}

std::string state_file(const std::string& name) {
  return source_path("diagnose/states/" + name + ".json");
}

}  // namespace inference::e2e
