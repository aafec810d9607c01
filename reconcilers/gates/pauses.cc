#include "reconcilers/gates/pauses.h"

namespace inference::reconcilers::gates {

void Pauses::set(const client::ObjectRef& owner, std::vector<Pause> pauses) {
  const bool changed = by_owner_.with([&](auto& all) {
    const auto known = all.find(owner);
    if (known == all.end() ? pauses.empty() : known->second == pauses) return false;
    if (pauses.empty()) {
      all.erase(known);
    } else {
      all[owner] = std::move(pauses);
    }
    return true;
  });
  if (changed) on_change_();
}

std::map<GroupName, Pause> Pauses::all() const {
  return by_owner_.with([](const auto& all) {
    std::map<GroupName, Pause> result;
    for (const auto& [owner, pauses] : all) {
      for (const Pause& pause : pauses) result.emplace(pause.group, pause);
    }
    return result;
  });
}

}  // namespace inference::reconcilers::gates
