#include "reconcilers/missing_rights.h"

namespace inference::reconcilers {

bool MissingRights::last(const client::ObjectRef& ref) {
  return refused_.with([&](auto& refused) {
    Refused& entry = refused.try_emplace(ref, Refused{.since = clock_.now()}).first->second;
    entry.now = true;
    return clock_.now() - entry.since >= kPatience;
  });
}

void MissingRights::reconciled(const client::ObjectRef& ref) {
  refused_.with([&](auto& refused) {
    const auto entry = refused.find(ref);
    if (entry == refused.end()) return;
    if (!entry->second.now)
      refused.erase(entry);
    else
      entry->second.now = false;
  });
}

}  // namespace inference::reconcilers
