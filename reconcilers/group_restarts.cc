#include "reconcilers/group_restarts.h"

#include <algorithm>

#include "base/json_members.h"
#include "diagnose/container_end.h"
#include "operator/runtime/object_meta.h"
#include "reconcilers/gates/pauses.h"
#include "reconcilers/workload.h"
#include "render/labels.h"

namespace inference::reconcilers {
namespace {

/// What status can hold (maxItems in the CRD).
constexpr std::size_t kToldGroups = 64;

std::string created_at(const Json& pod) {
  return text_at(member(pod, "metadata"), "creationTimestamp");
}

bool is_leader(const Json& pod) {
  return text_at(member(member(pod, "metadata"), "labels"), render::kLwsWorkerIndexLabel) == "0";
}

bool is_leaving(const Json& pod) {
  return member(member(pod, "metadata"), "deletionTimestamp").is_string();
}

std::optional<WallTime> ready_since(const Json& pod) {
  const Json& ready = condition_of(pod, "Ready");
  if (text_at(ready, "status") != "True") return std::nullopt;
  return parse_rfc3339(text_at(ready, "lastTransitionTime"));
}

std::optional<GroupFailure> failure_of(const Json& pod) {
  const std::string name = "pod " + text_at(member(pod, "metadata"), "name");
  if (const auto end = diagnose::read_engine_end(pod)) {
    const diagnose::EngineFailure failure = diagnose::read_last_words(end->words);
    return GroupFailure{failure.reason, name + ": " + diagnose::describe(*end, failure), end->served, created_at(pod)};
  }
  const Json& status = member(pod, "status");
  if (text_at(status, "phase") != "Failed") return std::nullopt;
  const std::string reason = text_at(status, "reason");
  const std::string message = diagnose::quotable(text_at(status, "message"));
  return GroupFailure{reason.empty() ? "PodFailed" : reason, name + (message.empty() ? " has failed" : ": " + message),
                      false, created_at(pod)};
}

/// What the pods of one group show.
struct Group {
  const Json* leader = nullptr;  // the one that stays
  std::int64_t pods = 0;
  std::int64_t placed = 0;
};

std::map<std::int64_t, Group> groups_of(const std::vector<Object>& pods) {
  std::map<std::int64_t, Group> groups;
  for (const Object& pod : pods) {
    const auto index = group_index(*pod);
    if (!index || is_leaving(*pod)) continue;
    Group& group = groups[*index];
    if (is_leader(*pod)) group.leader = pod.get();
    ++group.pods;
    if (!text_at(member(*pod, "spec"), "nodeName").empty()) ++group.placed;
  }
  return groups;
}

FailingGroup* find(GroupRestarts& groups, std::int64_t index) {
  const auto found = std::ranges::find(groups.failing, index, &FailingGroup::index);
  return found == groups.failing.end() ? nullptr : &*found;
}

FailingGroup& entry(GroupRestarts& groups, std::int64_t index) {
  const auto place = std::ranges::lower_bound(groups.failing, index, {}, &FailingGroup::index);
  if (place != groups.failing.end() && place->index == index) return *place;
  FailingGroup fresh;
  fresh.index = index;
  return *groups.failing.insert(place, std::move(fresh));
}

void erase(GroupRestarts& groups, std::int64_t index) {
  std::erase_if(groups.failing, [index](const FailingGroup& group) { return group.index == index; });
}

void blame(FailingGroup& group, const GroupFailure& failure) {
  group.reason = failure.reason;
  group.message = failure.message;
  group.served = failure.served;
}

/// Looks at one group that has a leader.
class GroupLook {
 public:
  GroupLook(GroupRestarts& restarts, std::int64_t index, const Group& group, Leaders& leaders, GroupFailures& failures)
      : restarts_(restarts),
        index_(index),
        leader_{runtime::uid_of(*group.leader), revision_of(*group.leader), false},
        created_(created_at(*group.leader)),
        leaders_(leaders),
        failures_(failures) {}

  void compare_leaders() {
    const FailingGroup* failing = find(restarts_, index_);
    const auto seen = leaders_.find(index_);
    // What status says outlives this process; a group that was told of in it had all its nodes.
    std::optional<Leader> before;
    if (failing != nullptr) before = Leader{failing->leader, failing->revision, true};
    if (seen != leaders_.end()) before = seen->second;
    if (before && before->uid == leader_.uid) {
      leader_.placed = before->placed;
    } else if (before && before->revision != leader_.revision) {
      erase(restarts_, index_);
      failures_.erase(index_);
    } else if (before && before->placed) {
      count();
    }
    if (FailingGroup* known = find(restarts_, index_)) {
      known->leader = leader_.uid;
      known->since = created_;
    }
  }

  /// The failure of this very incarnation; of an earlier one it has been told.
  void look_for_failure() {
    const auto failure = failures_.find(index_);
    if (failure == failures_.end()) return;
    if (failure->second.created < created_) {
      failures_.erase(failure);
      return;
    }
    FailingGroup& failing = entry(restarts_, index_);
    failing.leader = leader_.uid;
    failing.revision = leader_.revision;
    failing.since = created_;
    blame(failing, failure->second);
  }

  void note(const Group& group, std::int64_t size, WallTime now) {
    leader_.placed = leader_.placed || group.placed >= size;
    leaders_[index_] = leader_;
    const auto ready = ready_since(*group.leader);
    if (ready && *ready + kSteady <= now) {
      erase(restarts_, index_);
      failures_.erase(index_);
    }
    if (FailingGroup* failing = find(restarts_, index_)) {
      failing->placed = group.placed >= size;
      failing->ready_since = ready;
      const bool complete = group.pods >= size && !failing->placed;
      failing->held = failing->restarts > 0 && !(complete && failing->not_before() <= now);
    }
  }

 private:
  void count() {
    ++restarts_.total;
    FailingGroup& failing = entry(restarts_, index_);
    ++failing.restarts;
    failing.revision = leader_.revision;
    const auto failure = failures_.find(index_);
    if (failure != failures_.end() && failure->second.created < created_) {
      blame(failing, failure->second);
      failures_.erase(failure);
    } else if (failing.reason.empty()) {
      blame(failing, {"PodLost", "a pod of it was deleted or lost", true, {}});
    }
  }

  GroupRestarts& restarts_;
  const std::int64_t index_;
  Leader leader_;
  const std::string created_;
  Leaders& leaders_;
  GroupFailures& failures_;
};

}  // namespace

WallTime FailingGroup::not_before() const {
  const WallTime made = parse_rfc3339(since).value_or(WallTime{});
  return restarts < 2 ? made : made + gates::pause_after(restarts - 1);
}

GroupRestarts GroupRestarts::from_json(const Json& groups) {
  GroupRestarts result;
  result.total = integer_at(groups, "restarts");
  for (const Json& item : member(groups, "failing")) {
    if (!item.is_object()) continue;
    FailingGroup& group = entry(result, integer_at(item, "index"));
    group.leader = text_at(item, "leader");
    group.revision = text_at(item, "revision");
    group.restarts = integer_at(item, "restarts");
    group.since = text_at(item, "since");
    group.reason = text_at(item, "reason");
    group.message = text_at(item, "message");
    group.served = member(item, "served") == true;
  }
  return result;
}

Json GroupRestarts::to_json() const {
  Json list = Json::array();
  for (const FailingGroup& group : failing) {
    if (list.size() == kToldGroups) break;
    list.push_back({{"index", group.index},
                    {"leader", group.leader},
                    {"revision", group.revision},
                    {"restarts", group.restarts},
                    {"since", group.since},
                    {"reason", group.reason},
                    {"message", group.message},
                    {"served", group.served}});
  }
  return {{"restarts", total}, {"failing", std::move(list)}};
}

void note_failure(const Json& pod, GroupFailures& failures) {
  const auto index = group_index(pod);
  if (!index) return;
  auto failure = failure_of(pod);
  if (!failure) return;
  const auto [place, fresh] = failures.try_emplace(*index, *failure);
  const GroupFailure& known = place->second;
  if (!fresh &&
      (failure->created > known.created || (diagnose::is_vague(known.reason) && !diagnose::is_vague(failure->reason))))
    place->second = std::move(*failure);
}

GroupRestarts count_restarts(const GroupRestarts& before, const std::vector<Object>& pods, GroupShape shape,
                             Leaders& leaders, GroupFailures& failures, WallTime now) {
  GroupRestarts result = before;
  // While its pods go and come, and it is not seen below.
  for (FailingGroup& group : result.failing) group.held = group.restarts > 0;
  for (const Object& pod : pods) note_failure(*pod, failures);
  for (const auto& [index, group] : groups_of(pods)) {
    if (group.leader == nullptr) continue;
    GroupLook look(result, index, group, leaders, failures);
    look.compare_leaders();
    look.look_for_failure();
    look.note(group, shape.size, now);
  }
  const auto beyond = [&shape](const auto& item) { return item.first >= shape.wanted; };
  std::erase_if(leaders, beyond);
  std::erase_if(failures, beyond);
  std::erase_if(result.failing, [&shape](const FailingGroup& group) { return group.index >= shape.wanted; });
  return result;
}

std::optional<WallTime> next_change(const GroupRestarts& groups, WallTime now) {
  std::optional<WallTime> next;
  for (const FailingGroup& group : groups.failing) {
    const WallTime change = group.ready_since ? *group.ready_since + kSteady : group.not_before();
    if (change > now && (!next || change < *next)) next = change;
  }
  return next;
}

void GroupWatch::see(const client::ObjectRef& owner, const Json& pod) {
  if (!group_index(pod)) return;
  seen_.with([&](auto& seen) { note_failure(pod, seen[owner].failures); });
}

GroupRestarts GroupWatch::count(const client::ObjectRef& owner, const std::string& owner_uid, const GroupRestarts& told,
                                const std::vector<Object>& pods, GroupShape shape, WallTime now) {
  return seen_.with([&](auto& seen) {
    Seen& mine = seen[owner];
    if (mine.owner_uid != owner_uid) {
      mine.owner_uid = owner_uid;
      mine.restarts.reset();
      mine.leaders.clear();
    }
    mine.restarts = count_restarts(mine.restarts.value_or(told), pods, shape, mine.leaders, mine.failures, now);
    return *mine.restarts;
  });
}

void GroupWatch::forget(const client::ObjectRef& owner) {
  seen_.with([&](auto& seen) { seen.erase(owner); });
}

}  // namespace inference::reconcilers
