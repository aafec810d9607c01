#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "operator/client/resource.h"
#include "operator/runtime/store.h"
#include "reconcilers/gates/node.h"

namespace inference::reconcilers::gates {

/// One group of a LeaderWorkerSet.
struct GroupName {
  std::string ns;
  std::string set;
  std::int64_t index = 0;
  auto operator<=>(const GroupName&) const = default;
  /// `m-0`: the name of its leader pod.
  [[nodiscard]] std::string leader() const { return set + "-" + std::to_string(index); }
};

/// One pod of a group.
struct Member {
  enum class State {
    kHeld,      // carries our gate
    kReleased,  // no more, and has no node yet
    kBound,
  };
  client::ObjectRef ref;
  std::string uid = {};
  std::string created = {};  // RFC 3339, which sorts by time
  State state = State::kHeld;
  std::size_t gate = 0;         // of kHeld: our gate's place in the list
  bool held_by_others = false;  // by someone's gate besides ours
  bool leaving = false;         // on its way out, or ended
  bool refused = false;         // of kReleased: the scheduler has found no node, nor pods to remove from one
  Needs needs = {};
};

/// The pods of one group that there are.
struct Group {
  GroupName name;
  client::ObjectRef owner;           // the InferenceDeployment
  std::int64_t size = 0;             // how many pods it is to have
  std::vector<Member> members = {};  // by name

  /// All pods are there to stay.
  [[nodiscard]] bool whole() const;
  [[nodiscard]] std::int64_t count(Member::State state) const;
  /// When the oldest of its pods was made.
  [[nodiscard]] std::string since() const;
};

/// The groups that `pods` are of, the longest waiting first (by age, then by name). Pods without LeaderWorkerSet's
/// labels are left out.
[[nodiscard]] std::vector<Group> read_groups(const std::vector<Object>& pods);

/// What is read of gated pods, for a FieldMask.
[[nodiscard]] std::vector<std::string> fields_of_members();

}  // namespace inference::reconcilers::gates
