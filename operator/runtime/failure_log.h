#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/guarded.h"

namespace inference::runtime {

/// Logs why kinds can't be watched, each cause once: an API server that is down fails nine kinds at once, again and
/// again. What concerns one kind alone (a missing right) has a text of its own and is never merged. Thread-safe.
class FailureLog {
 public:
  explicit FailureLog(Clock& clock) : clock_(clock) {}

  /// Logs `error` at once when it is new, and then every kQuiet at most, with the number of kinds that met it since.
  void note(const std::string& kind, std::string_view state, const std::string& error);

  static constexpr std::chrono::seconds kQuiet{30};

 private:
  struct Cause {
    TimePoint quiet_until;
    std::set<std::string> kinds;  // since it was last logged
  };

  Clock& clock_;
  Guarded<std::map<std::string, Cause>> causes_;  // by error; those long quiet are dropped
};

}  // namespace inference::runtime
