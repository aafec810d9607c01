#include "reconcilers/gates/pauses.h"

#include <algorithm>

namespace inference::reconcilers::gates {

std::chrono::seconds pause_after(std::int64_t times) {
  constexpr std::chrono::seconds kFirst{10};
  constexpr std::chrono::seconds kLongest{600};
  std::chrono::seconds pause = kFirst;
  for (std::int64_t time = 1; time < times && pause < kLongest; ++time) pause *= 2;
  return std::min(pause, kLongest);
}

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
