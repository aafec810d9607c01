#include "reconcilers/gates/board.h"

#include "base/wording.h"

namespace inference::reconcilers::gates {

std::vector<client::ObjectRef> Board::publish(const std::vector<Waiting>& waiting) {
  std::map<client::ObjectRef, Waiting> now;
  std::map<client::ObjectRef, int> more;
  for (const Waiting& group : waiting) {
    if (!now.emplace(group.owner, group).second) ++more[group.owner];
  }
  for (const auto& [owner, count] : more) {
    now.at(owner).why += "; " + counted(count, "more group") + (count == 1 ? " waits" : " wait");
  }
  return by_owner_.with([&](auto& before) {
    std::vector<client::ObjectRef> changed;
    for (const auto& [owner, told] : now) {
      const auto known = before.find(owner);
      if (known == before.end() || known->second != told) changed.push_back(owner);
    }
    for (const auto& [owner, told] : before) {
      if (!now.contains(owner)) changed.push_back(owner);
    }
    before = std::move(now);
    return changed;
  });
}

std::optional<Waiting> Board::of(const client::ObjectRef& owner) const {
  return by_owner_.with([&](const auto& all) {
    const auto found = all.find(owner);
    return found == all.end() ? std::nullopt : std::optional(found->second);
  });
}

}  // namespace inference::reconcilers::gates
