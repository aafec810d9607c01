#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "reconcilers/gates/group.h"
#include "reconcilers/gates/memory.h"
#include "reconcilers/gates/node.h"

namespace inference::reconcilers::gates {

/// A group that stays gated, and why.
struct Waiting {
  client::ObjectRef owner;
  std::string since;  // RFC 3339: when its pods were made
  std::string why;    // a sentence: "group m-0 needs 16 GPUs in 2 pods at once; …"
  bool operator==(const Waiting&) const = default;
};

/// A group that a pod of someone else's split: it is made anew, gated, by the deletion of its leader.
struct Recovery {
  GroupName group;
  client::ObjectRef leader;
  std::string leader_uid;
  client::ObjectRef owner;
};

/// What is to be done about the gated groups of a cluster.
struct Decision {
  std::vector<Member> releases;  // in this order: all of one group, then of the next
  std::vector<Recovery> recoveries;
  std::vector<Waiting> waiting;         // the longest waiting first
  std::optional<TimePoint> look_again;  // when time alone may change the decision
};

/// How long the scheduler may refuse a released pod until its group counts as split. It tries again at each event that
/// may help, and another pod may be just about to go.
inline constexpr std::chrono::seconds kRefusalPatience{30};

/// Which groups are released. Pure.
///
/// `nodes` (ordered by name) have what bound pods leave; `groups` (read_groups, Memory::update) are the longest waiting
/// first. The rules:
/// 1. Room for pods that are released and have no node yet is theirs, unless the scheduler has refused them for
///    kRefusalPatience.
/// 2. A group that is released in part is completed first: its room was found when its release began. Not so one that
///    is pausing after a split, of which pods of before may still be there.
/// 3. The others in turn: each is released whole, when all its pods have room, or not at all. One that has to wait
///    keeps every node that it could use from those behind it, so that small groups cannot overtake it for ever; unless
///    even the empty nodes would not hold it, or it is pausing after a split or after failures.
/// 4. A group of which one pod is bound and another refused for kRefusalPatience is split: it is made anew.
[[nodiscard]] Decision decide(std::vector<Node> nodes, const std::vector<Group>& groups, const Memory& memory,
                              TimePoint now);

}  // namespace inference::reconcilers::gates
