#include "reconcilers/pod_groups.h"

#include "base/json_members.h"

namespace inference::reconcilers {
namespace {

/// When the scheduler has placed or refused the pod; empty when it has not looked at it.
std::string judged_at(const Json& pod) {
  return text_at(condition_of(pod, "PodScheduled"), "lastTransitionTime");
}

/// RFC 3339 in UTC to the second sorts as it stands.
std::optional<UnheededGroup> unheeded(const Json& group, const std::vector<Object>& pods) {
  if (!group.value("/status/conditions"_json_pointer, Json::array()).empty()) return std::nullopt;
  const std::string name = group.value("/metadata/name"_json_pointer, "");
  const std::string made = group.value("/metadata/creationTimestamp"_json_pointer, "");
  std::optional<UnheededGroup> found;
  for (const Object& pod : pods) {
    if (pod->value("/spec/schedulingGroup/podGroupName"_json_pointer, "") != name) continue;
    const std::string judged = judged_at(*pod);
    // A group that was made anew under its pods has nothing to be told.
    if (judged.empty() || judged < made) continue;
    if (!found || judged < found->since) found = UnheededGroup{.name = name, .since = judged};
  }
  return found;
}

}  // namespace

std::optional<UnheededGroup> find_unheeded_group(const std::vector<LiveChild>& children,
                                                 const std::vector<Object>& pods) {
  std::optional<UnheededGroup> longest;
  for (const LiveChild& child : children) {
    if (child.resource != client::resources::kPodGroup) continue;
    auto found = unheeded(*child.object, pods);
    if (found && (!longest || found->since < longest->since)) longest = std::move(found);
  }
  return longest;
}

}  // namespace inference::reconcilers
