#pragma once

#include <map>
#include <optional>
#include <vector>

#include "base/guarded.h"
#include "reconcilers/gates/decision.h"

namespace inference::reconcilers::gates {

/// What was found last about the groups that wait behind their gates, for those who tell it. Thread-safe.
class Board {
 public:
  /// Replaces all. Returns the owners of whom something else is to be told than before.
  [[nodiscard]] std::vector<client::ObjectRef> publish(const std::vector<Waiting>& waiting);
  /// Of the group that waits longest, with how many others do; nothing when none of this owner's waits.
  [[nodiscard]] std::optional<Waiting> of(const client::ObjectRef& owner) const;

 private:
  Guarded<std::map<client::ObjectRef, Waiting>> by_owner_;
};

}  // namespace inference::reconcilers::gates
