#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "reconcilers/gates/group.h"
#include "reconcilers/gates/pauses.h"

namespace inference::reconcilers::gates {

/// What this process knows of groups beyond what their pods show. Losing it in a restart costs time only: a pod that is
/// refused is waited for anew, and a group that was split may be tried sooner.
class Memory {
 public:
  /// This pod's gate was lifted by us, whatever the cache still shows.
  void released(const Member& member) { released_.insert(member.uid); }
  /// This group was split by pods of others, and the leader with this uid was deleted so that it is made anew.
  void split(const GroupName& name, const std::string& leader_uid, TimePoint now);

  /// Makes the groups show what was released, notes since when pods are refused, and forgets what is over.
  void update(std::vector<Group>& groups, TimePoint now);

  /// The groups that pause after failures, of which others keep count. `now` and `wall_now` are the same moment.
  void pause(const std::map<GroupName, Pause>& pauses, TimePoint now, WallTime wall_now);

  /// Since when the scheduler has refused this pod; `now` when it has not.
  [[nodiscard]] TimePoint refused_since(const Member& member, TimePoint now) const;
  /// Before which the group is not to be released again, because it has been split so often.
  [[nodiscard]] TimePoint not_before(const GroupName& name) const;
  /// Whether this leader was deleted for the sake of its group, whatever the cache still shows.
  [[nodiscard]] bool was_deleted(const GroupName& name, const std::string& leader_uid) const;
  /// How often it has been split in a row.
  [[nodiscard]] int splits(const GroupName& name) const;

  /// That of the group after failures, and when it ends; null when it has none.
  struct Failed {
    Pause pause;
    TimePoint until;
  };
  [[nodiscard]] const Failed* failed(const GroupName& name) const;

 private:
  struct Split {
    int times = 0;
    TimePoint not_before;
    std::string leader_uid;
  };
  std::set<std::string> released_;                  // uids
  std::map<std::string, TimePoint> refused_since_;  // by uid
  std::map<GroupName, Split> splits_;
  std::map<GroupName, Failed> failed_;
};

}  // namespace inference::reconcilers::gates
