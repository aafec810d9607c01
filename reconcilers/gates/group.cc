#include "reconcilers/gates/group.h"

#include <algorithm>
#include <map>

#include "base/json_members.h"
#include "base/parse_integer.h"
#include "operator/runtime/object_meta.h"
#include "render/labels.h"

namespace inference::reconcilers::gates {
namespace {

/// The scheduler looked for a node in vain. While it removes other pods for this one, that one's node is named.
bool is_refused(const Json& pod) {
  if (!text_at(member(pod, "status"), "nominatedNodeName").empty()) return false;
  const Json& placed = condition_of(pod, "PodScheduled");
  return text_at(placed, "status") == "False" && text_at(placed, "reason") == "Unschedulable";
}

Member read_member(const Json& pod) {
  Member member{.ref = runtime::ref_of(pod), .uid = runtime::uid_of(pod), .needs = needs_of(pod)};
  const Json metadata = pod.value("metadata", Json::object());
  const Json status = pod.value("status", Json::object());
  member.created = text_at(metadata, "creationTimestamp");
  const std::string phase = text_at(status, "phase");
  member.leaving = metadata.contains("deletionTimestamp") || phase == "Succeeded" || phase == "Failed";
  member.state =
      pod.value("/spec/nodeName"_json_pointer, "").empty() ? Member::State::kReleased : Member::State::kBound;
  const Json gates = pod.value("/spec/schedulingGates"_json_pointer, Json::array());
  for (std::size_t place = 0; place < gates.size(); ++place) {
    if (text_at(gates[place], "name") == render::kGangGate) {
      member.state = Member::State::kHeld;
      member.gate = place;
    } else {
      member.held_by_others = true;
    }
  }
  member.refused = member.state == Member::State::kReleased && is_refused(pod);
  return member;
}

}  // namespace

bool Group::whole() const {
  return static_cast<std::int64_t>(members.size()) == size && std::ranges::none_of(members, &Member::leaving);
}

std::int64_t Group::count(Member::State state) const {
  return std::ranges::count(members, state, &Member::state);
}

std::string Group::since() const {
  std::string oldest;
  for (const Member& member : members) {
    if (oldest.empty() || member.created < oldest) oldest = member.created;
  }
  return oldest;
}

std::vector<Group> read_groups(const std::vector<Object>& pods) {
  std::map<GroupName, Group> by_name;
  for (const Object& pod : pods) {
    const Json labels = pod->value("/metadata/labels"_json_pointer, Json::object());
    const Json annotations = pod->value("/metadata/annotations"_json_pointer, Json::object());
    const auto index = parse_integer<std::int64_t>(text_at(labels, render::kLwsGroupIndexLabel));
    const auto size = parse_integer<std::int64_t>(text_at(annotations, render::kLwsSizeAnnotation));
    if (!index || !size) continue;
    const std::string ns = runtime::ref_of(*pod).ns;
    const GroupName name{.ns = ns, .set = text_at(labels, render::kLwsNameLabel), .index = *index};
    Group& group = by_name[name];
    group.name = name;
    group.owner = {.ns = ns, .name = text_at(labels, render::kNameLabel)};
    group.size = *size;
    group.members.push_back(read_member(*pod));
  }
  std::vector<Group> groups;
  for (auto& [name, group] : by_name) {
    std::ranges::sort(group.members, {}, &Member::ref);
    groups.push_back(std::move(group));
  }
  std::ranges::stable_sort(groups, {}, &Group::since);
  return groups;
}

std::vector<std::string> fields_of_members() {
  std::vector<std::string> fields = fields_of_occupants();
  fields.insert(fields.end(), {"metadata.labels", "metadata.annotations", "metadata.creationTimestamp",
                               "metadata.deletionTimestamp", "spec.schedulingGates", "spec.nodeSelector",
                               "spec.affinity", "spec.tolerations", "status.conditions", "status.nominatedNodeName"});
  return fields;
}

}  // namespace inference::reconcilers::gates
