#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/guarded.h"
#include "reconcilers/gates/group.h"

namespace inference::reconcilers::gates {

/// The pause after the `times`th failure in a row, from 1 on: as a kubelet paces containers, 10 s, doubled each further
/// time up to 10 min.
[[nodiscard]] std::chrono::seconds pause_after(std::int64_t times);

/// A group that has failed and is not to be released at once.
struct Pause {
  GroupName group;
  std::string leader_uid;  // of the pods that were counted: others have failed once more, which is not counted yet
  WallTime until;
  std::int64_t restarts = 0;  // in a row
  bool operator==(const Pause&) const = default;
};

/// The pauses of all groups, from those who count failures to those who release groups. Thread-safe.
class Pauses {
 public:
  /// `on_change` is called after each change, on the thread that made it. To be set before there are any.
  void listen(std::function<void()> on_change) { on_change_ = std::move(on_change); }
  /// Replaces those of one owner.
  void set(const client::ObjectRef& owner, std::vector<Pause> pauses);
  [[nodiscard]] std::map<GroupName, Pause> all() const;

 private:
  std::function<void()> on_change_ = [] {};
  Guarded<std::map<client::ObjectRef, std::vector<Pause>>> by_owner_;  // none is empty
};

}  // namespace inference::reconcilers::gates
