#pragma once

#include <map>

#include "base/clock.h"
#include "base/guarded.h"
#include "operator/client/resource.h"

namespace inference::reconcilers {

/// Which objects' reconciles are answered 403, and since when. An API server that starts says 403 to everybody until
/// its caches of roles are full, so only one that lasts is a right that someone has to grant. Thread-safe; each key is
/// used by one reconcile at a time.
class MissingRights {
 public:
  explicit MissingRights(Clock& clock) : clock_(clock) {}

  /// The reconcile of `ref` that runs now has met a 403. Whether every one has for kPatience.
  [[nodiscard]] bool last(const client::ObjectRef& ref);
  /// That reconcile has ended; one that met no 403 ends the patience.
  void reconciled(const client::ObjectRef& ref);

  /// Role caches fill within a second or two of the API server's readiness; a loaded machine takes longer.
  static constexpr std::chrono::seconds kPatience{10};

 private:
  struct Refused {
    TimePoint since;
    bool now = true;  // by the reconcile that runs
  };
  Clock& clock_;
  Guarded<std::map<client::ObjectRef, Refused>> refused_;
};

}  // namespace inference::reconcilers
