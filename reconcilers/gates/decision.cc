#include "reconcilers/gates/decision.h"

#include <algorithm>

#include "base/wording.h"

namespace inference::reconcilers::gates {
namespace {

using State = Member::State;

/// Where the pods of a group go.
struct Placement {
  std::vector<std::pair<const Member*, std::size_t>> placed;  // and the index of its node
  std::vector<const Member*> unplaced;
};

class Decider {
 public:
  Decider(std::vector<Node> nodes, const std::vector<Group>& groups, const Memory& memory, TimePoint now)
      : nodes_(std::move(nodes)), kept_(nodes_.size()), groups_(groups), memory_(memory), now_(now) {}

  Decision run() {
    for (const Group& group : groups_) reserve(group);
    for (const Group& group : groups_) recover_if_split(group);
    for (const Group& group : groups_) complete(group);
    // From here on every pod that is not held has its room, and what is left is for whole groups.
    for (const Group& group : groups_) {
      if (group.whole() && group.count(State::kHeld) == group.size) release_or_wait(group);
    }
    return std::move(decision_);
  }

 private:
  enum class Room { kFree, kUnkept, kEmpty };

  [[nodiscard]] bool is_given_up(const Member& member) const {
    return member.refused && now_ - memory_.refused_since(member, now_) >= kRefusalPatience;
  }

  void look_again_at(TimePoint time) {
    if (!decision_.look_again || time < *decision_.look_again) decision_.look_again = time;
  }

  /// First fit, the pods with the fewest nodes to choose from first: a leader may be smaller than its workers.
  [[nodiscard]] Placement place(std::vector<const Member*> members, Room room) const {
    std::vector<crd::Amounts> left;
    for (const Node& node : nodes_) left.push_back(room == Room::kEmpty ? node.most : node.free);
    std::map<const Member*, std::vector<std::size_t>> choices;
    for (const Member* member : members) {
      for (std::size_t node = 0; node < nodes_.size(); ++node) {
        if ((room == Room::kUnkept && kept_[node]) || !covers(left[node], member->needs.requests)) continue;
        if (admits(nodes_[node], member->needs)) choices[member].push_back(node);
      }
    }
    std::ranges::stable_sort(members, {}, [&](const Member* member) { return choices[member].size(); });
    Placement result;
    for (const Member* member : members) {
      const auto& candidates = choices[member];
      const auto found = std::ranges::find_if(
          candidates, [&](std::size_t node) { return covers(left[node], member->needs.requests); });
      if (found == candidates.end()) {
        result.unplaced.push_back(member);
      } else {
        subtract(left[*found], member->needs.requests);
        result.placed.emplace_back(member, *found);
      }
    }
    return result;
  }

  void take(const Placement& placement) {
    for (const auto& [member, node] : placement.placed) subtract(nodes_[node].free, member->needs.requests);
  }

  static std::vector<const Member*> in_state(const Group& group, State state) {
    std::vector<const Member*> members;
    for (const Member& member : group.members) {
      if (member.state == state && !member.leaving) members.push_back(&member);
    }
    return members;
  }

  static const Member* leader_of(const Group& group) {
    const auto leader =
        std::ranges::find(group.members, group.name.leader(), [](const Member& member) { return member.ref.name; });
    return leader == group.members.end() ? nullptr : &*leader;
  }

  void reserve(const Group& group) {
    std::vector<const Member*> coming = in_state(group, State::kReleased);
    std::erase_if(coming, [this](const Member* member) { return is_given_up(*member); });
    take(place(std::move(coming), Room::kFree));
  }

  void recover_if_split(const Group& group) {
    if (!group.whole() || group.count(State::kBound) == 0) return;
    bool split = false;
    for (const Member* member : in_state(group, State::kReleased)) {
      if (is_given_up(*member)) {
        split = true;
      } else if (member->refused) {
        look_again_at(memory_.refused_since(*member, now_) + kRefusalPatience);
      }
    }
    const Member* leader = leader_of(group);
    if (!split || leader == nullptr || memory_.was_deleted(group.name, leader->uid)) return;
    decision_.recoveries.push_back(
        {.group = group.name, .leader = leader->ref, .leader_uid = leader->uid, .owner = group.owner});
  }

  void complete(const Group& group) {
    const std::vector<const Member*> held = in_state(group, State::kHeld);
    if (!group.whole() || held.empty() || static_cast<std::int64_t>(held.size()) == group.size) return;
    // While it is made anew, pods of before stand beside the new ones: that is no release that was cut short.
    if (const TimePoint not_before = memory_.not_before(group.name); not_before > now_)
      return look_again_at(not_before);
    take(place(held, Room::kFree));
    release(held);
  }

  void release(const std::vector<const Member*>& members) {
    for (const Member* member : members) decision_.releases.push_back(*member);
  }

  void wait(const Group& group, std::string why) {
    decision_.waiting.push_back({.owner = group.owner, .since = group.since(), .why = std::move(why)});
  }

  void release_or_wait(const Group& group) {
    const std::string name = "group " + group.name.leader();
    if (std::ranges::any_of(group.members, &Member::held_by_others)) {
      return wait(group, name + " is held by scheduling gates of others too, which have to go first");
    }
    if (const TimePoint not_before = memory_.not_before(group.name); not_before > now_) {
      look_again_at(not_before);
      return wait(group, name + " pauses, since other pods took its nodes while it was placed: " +
                             counted(memory_.splits(group.name), "time") + " in a row");
    }
    if (pauses_after_failures(group, name)) return;
    const std::vector<const Member*> members = in_state(group, State::kHeld);
    const Placement placement = place(members, Room::kUnkept);
    if (placement.unplaced.empty()) {
      take(placement);
      return release(members);
    }
    const Placement anywhere = place(members, Room::kFree);
    const Placement empty = place(members, Room::kEmpty);
    if (empty.unplaced.empty()) keep_nodes_for(members);
    if (anywhere.unplaced.empty()) return wait(group, name + " would fit, but a group that waits longer comes first");
    std::string why = needs_of_group(name, members, anywhere);
    if (!empty.unplaced.empty()) {
      why +=
          "; even without other pods the nodes have room for " + std::to_string(empty.placed.size()) + " of them only";
    }
    wait(group, std::move(why));
  }

  bool pauses_after_failures(const Group& group, const std::string& name) {
    const Memory::Failed* failed = memory_.failed(group.name);
    const Member* leader = leader_of(group);
    if (failed == nullptr || leader == nullptr) return false;
    if (leader->uid != failed->pause.leader_uid) {
      wait(group, name + " has failed once more, and pauses for a while");
      return true;
    }
    if (failed->until <= now_) return false;
    look_again_at(failed->until);
    wait(group, name + " was made anew " + counted(failed->pause.restarts, "time") +
                    " and has not served long enough since: it pauses until " + to_rfc3339(failed->pause.until));
    return true;
  }

  /// Also nodes that are full now: when they become free it is this group's turn.
  void keep_nodes_for(const std::vector<const Member*>& members) {
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
      kept_[node] = kept_[node] || std::ranges::any_of(members, [&](const Member* member) {
                      return covers(nodes_[node].most, member->needs.requests) && admits(nodes_[node], member->needs);
                    });
    }
  }

  static std::string needs_of_group(const std::string& name, const std::vector<const Member*>& members,
                                    const Placement& now) {
    std::int64_t needed = 0;
    std::int64_t missing = 0;
    for (const Member* member : members) needed += gpus_in(member->needs.requests);
    for (const Member* member : now.unplaced) missing += gpus_in(member->needs.requests);
    const auto pods = static_cast<std::int64_t>(members.size());
    std::string text = name + " needs " + (needed > 0 ? counted(needed, "GPU") + " in " : "room for ") +
                       counted(pods, "pod") + " at once; nodes have room for " + std::to_string(now.placed.size()) +
                       " of them";
    if (missing > 0) text += ", " + counted(missing, "GPU") + (missing == 1 ? " is missing" : " are missing");
    return text;
  }

  std::vector<Node> nodes_;
  std::vector<bool> kept_;  // by node: a group that waits could use it
  const std::vector<Group>& groups_;
  const Memory& memory_;
  const TimePoint now_;
  Decision decision_;
};

}  // namespace

Decision decide(std::vector<Node> nodes, const std::vector<Group>& groups, const Memory& memory, TimePoint now) {
  return Decider(std::move(nodes), groups, memory, now).run();
}

}  // namespace inference::reconcilers::gates
