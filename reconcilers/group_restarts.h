#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/guarded.h"
#include "base/json.h"
#include "operator/client/resource.h"

namespace inference::reconcilers {

/// A group of a LeaderWorkerSet that has failed and not served for kSteady since.
struct FailingGroup {
  std::int64_t index = 0;
  std::string leader;         // uid of the pod that leads it
  std::string revision;       // of its template
  std::int64_t restarts = 0;  // how often it was made anew in a row; 0: it has failed and is about to be
  std::string since;          // RFC 3339: when the pod that leads it was made
  std::string reason;         // why, as a condition's reason; PodLost where no engine said anything
  std::string message;
  bool served = false;  // it had served before it failed
  // Of this moment, and no part of status:
  std::optional<WallTime> ready_since = std::nullopt;  // none: it does not serve
  bool placed = false;                                 // all its pods have a node
  bool held = false;                                   // its next pods are not to be placed yet

  /// When its pods may be placed: the first time at once, then gates::pause_after they were made.
  [[nodiscard]] WallTime not_before() const;
  bool operator==(const FailingGroup&) const = default;
};

/// How often groups were made anew because a pod of theirs failed or was lost: status.groups. LeaderWorkerSet keeps no
/// count, so it is kept where it is told. Rollouts, and groups that never had all their nodes, don't count.
struct GroupRestarts {
  std::int64_t total = 0;
  std::vector<FailingGroup> failing = {};  // by index

  /// Reads status.groups leniently.
  [[nodiscard]] static GroupRestarts from_json(const Json& groups);
  [[nodiscard]] Json to_json() const;
  bool operator==(const GroupRestarts&) const = default;
};

/// How long a group has to serve until its failures are forgotten: a kubelet's limit for containers.
inline constexpr std::chrono::minutes kSteady{10};

/// The pods that led the groups of one LeaderWorkerSet when they were last looked at, by group.
struct Leader {
  std::string uid;
  std::string revision;
  bool placed = false;  // all pods of the group had a node
};
using Leaders = std::map<std::int64_t, Leader>;

/// Why a group failed: what an engine said last, or why the kubelet gave a pod up.
struct GroupFailure {
  std::string reason;
  std::string message;
  bool served = false;
  std::string created;  // RFC 3339: when the pod was made, which tells of which incarnation of its group it was
};
using GroupFailures = std::map<std::int64_t, GroupFailure>;

/// Notes what `pod` says of a failure of its group. Of two pods of a group the first tells the cause, unless it only
/// missed the other.
void note_failure(const Json& pod, GroupFailures& failures);

/// How many groups there are to be, of how many pods.
struct GroupShape {
  std::int64_t wanted = 0;
  std::int64_t size = 1;
};

/// What `pods` show beyond `before`. `leaders` and `failures` are what was seen meanwhile, and are brought up to date.
/// Groups beyond those that are wanted are forgotten.
[[nodiscard]] GroupRestarts count_restarts(const GroupRestarts& before, const std::vector<Object>& pods,
                                           GroupShape shape, Leaders& leaders, GroupFailures& failures, WallTime now);

/// When time alone changes something about `groups`: a failure is forgotten or a pause ends. Nothing when none does.
[[nodiscard]] std::optional<WallTime> next_change(const GroupRestarts& groups, WallTime now);

/// What this process knows of groups beyond what their pods show now. LeaderWorkerSet deletes a pod that has failed
/// within a second, and its last words with it. A restart of the operator goes on from status: it may lose a restart
/// that happened meanwhile, and never counts one twice. Thread-safe.
class GroupWatch {
 public:
  /// Each change of a pod; `pod` is as it was last, also when it is gone.
  void see(const client::ObjectRef& owner, const Json& pod);
  /// `told` is what status says, which only counts for an owner that was never looked at.
  [[nodiscard]] GroupRestarts count(const client::ObjectRef& owner, const std::string& owner_uid,
                                    const GroupRestarts& told, const std::vector<Object>& pods, GroupShape shape,
                                    WallTime now);
  void forget(const client::ObjectRef& owner);

 private:
  struct Seen {
    std::string owner_uid = {};
    std::optional<GroupRestarts> restarts = std::nullopt;
    Leaders leaders = {};
    GroupFailures failures = {};
  };
  Guarded<std::map<client::ObjectRef, Seen>> seen_;
};

}  // namespace inference::reconcilers
