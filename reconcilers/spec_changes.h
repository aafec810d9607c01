#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "base/clock.h"
#include "base/guarded.h"
#include "operator/runtime/store.h"

namespace inference::reconcilers {

/// Since when each changed spec waits for its objects, by our clock alone. Knows only specs that wait. Thread-safe.
class SpecChanges {
 public:
  explicit SpecChanges(Clock& clock) : clock_(clock) {}

  /// What the informer of InferenceDeployments shows. A new generation begins to wait, unless its status says that it
  /// has been dealt with: before a restart, or by the replica that leads. Two changes of a spec in a row count from
  /// the second.
  void see(const runtime::Change& change);
  /// A reconcile of that generation could not write everything: it goes on waiting, whatever status comes to say.
  void failed(const client::ObjectRef& ref, std::int64_t generation);
  /// A reconcile of that generation has written everything. Returns for how long it had waited; nothing when it did
  /// not wait, or when a newer one has been seen since.
  [[nodiscard]] std::optional<Duration> applied(const client::ObjectRef& ref, std::int64_t generation);

 private:
  struct Waiting {
    std::int64_t generation = 0;
    TimePoint since;
    bool failed = false;
  };
  Clock& clock_;
  Guarded<std::map<client::ObjectRef, Waiting>> waiting_;
};

}  // namespace inference::reconcilers
