#include "reconcilers/gates/memory.h"

#include <algorithm>

namespace inference::reconcilers::gates {

void Memory::split(const GroupName& name, const std::string& leader_uid, TimePoint now) {
  Split& split = splits_[name];
  ++split.times;
  split.leader_uid = leader_uid;
  split.not_before = now + pause_after(split.times);
}

void Memory::update(std::vector<Group>& groups, TimePoint now) {
  std::set<std::string> released;
  std::map<std::string, TimePoint> refused_since;
  std::map<GroupName, Split> splits;
  for (Group& group : groups) {
    for (Member& member : group.members) {
      if (member.state == Member::State::kHeld && released_.contains(member.uid)) {
        released.insert(member.uid);
        member.state = Member::State::kReleased;
      }
      if (member.refused) refused_since[member.uid] = this->refused_since(member, now);
    }
    // Placed whole: the next split is a first one again.
    const bool placed = group.whole() && group.count(Member::State::kBound) == group.size;
    if (const auto split = splits_.find(group.name); split != splits_.end() && !placed) splits.insert(*split);
  }
  // A group whose pods are all gone for a moment, while it is made anew, keeps its pause.
  for (const auto& [name, split] : splits_) {
    if (split.not_before > now && std::ranges::none_of(groups, [&](const Group& group) { return group.name == name; }))
      splits.emplace(name, split);
  }
  released_ = std::move(released);
  refused_since_ = std::move(refused_since);
  splits_ = std::move(splits);
}

void Memory::pause(const std::map<GroupName, Pause>& pauses, TimePoint now, WallTime wall_now) {
  failed_.clear();
  for (const auto& [name, pause] : pauses) failed_.emplace(name, Failed{pause, now + (pause.until - wall_now)});
}

const Memory::Failed* Memory::failed(const GroupName& name) const {
  const auto found = failed_.find(name);
  return found == failed_.end() ? nullptr : &found->second;
}

TimePoint Memory::refused_since(const Member& member, TimePoint now) const {
  const auto found = refused_since_.find(member.uid);
  return found == refused_since_.end() ? now : found->second;
}

TimePoint Memory::not_before(const GroupName& name) const {
  const auto found = splits_.find(name);
  return found == splits_.end() ? TimePoint::min() : found->second.not_before;
}

bool Memory::was_deleted(const GroupName& name, const std::string& leader_uid) const {
  const auto found = splits_.find(name);
  return found != splits_.end() && found->second.leader_uid == leader_uid;
}

int Memory::splits(const GroupName& name) const {
  const auto found = splits_.find(name);
  return found == splits_.end() ? 0 : found->second.times;
}

}  // namespace inference::reconcilers::gates
