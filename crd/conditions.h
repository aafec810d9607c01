#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace inference::crd {

enum class ConditionStatus { kTrue, kFalse, kUnknown };

/// "True", "False", "Unknown".
[[nodiscard]] std::string_view to_string(ConditionStatus status);

/// Every type that we publish, in the order in which they stand in status. `Reconciling` and `Stalled` are kstatus'
/// abnormal-true types (sigs.k8s.io/cli-utils/pkg/kstatus): they are absent when all is well; all others are there from
/// the first reconcile on.
inline constexpr std::string_view kConditionTypes[] = {
    "Ready",       "Resolved",         "CacheReady",  "Scheduled", "Available",
    "Progressing", "TopologyVerified", "Reconciling", "Stalled",
};

/// One metav1.Condition.
struct Condition {
  std::string type;
  ConditionStatus status = ConditionStatus::kUnknown;
  std::string reason;                // CamelCase, part of the API
  std::string message;               // for people, may change at any time
  std::string last_transition_time;  // RFC 3339 with seconds
  std::int64_t observed_generation = 0;
  friend bool operator==(const Condition&, const Condition&) = default;
};

/// The conditions of one object: one a type, in the order of kConditionTypes (unknown types last, by name). Not
/// thread-safe.
class Conditions {
 public:
  Conditions() = default;
  /// Reads `.status.conditions` leniently: what is no condition is left out, since only we write it and a fault there
  /// must not block us.
  [[nodiscard]] static Conditions from_json(const Json& list);

  /// Adds or replaces the one of the same type. `condition.last_transition_time` is ignored: it stays as it was unless
  /// the status changes, then it becomes `now` (RFC 3339), so that a settled object's status does not change with time.
  /// A message longer than the API's 32768 bytes is cut.
  void set(Condition condition, std::string_view now);
  void remove(std::string_view type);
  /// Null when there is none of this type; valid until the next change.
  [[nodiscard]] const Condition* find(std::string_view type) const;
  [[nodiscard]] const std::vector<Condition>& all() const { return conditions_; }
  /// The list for `.status.conditions`; from_json(to_json()) is the same.
  [[nodiscard]] Json to_json() const;
  friend bool operator==(const Conditions&, const Conditions&) = default;

 private:
  std::vector<Condition> conditions_;  // ordered, types unique
};

}  // namespace inference::crd
