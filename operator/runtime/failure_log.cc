#include "operator/runtime/failure_log.h"

#include "base/logging.h"

namespace inference::runtime {

void FailureLog::note(const std::string& kind, std::string_view state, const std::string& error) {
  const TimePoint now = clock_.now();
  const std::size_t kinds = causes_.with([&](auto& causes) -> std::size_t {
    std::erase_if(causes, [&](const auto& cause) { return now > cause.second.quiet_until + 10 * kQuiet; });
    Cause& cause = causes[error];
    cause.kinds.insert(kind);
    if (now < cause.quiet_until) return 0;
    cause.quiet_until = now + kQuiet;
    return std::exchange(cause.kinds, {}).size();
  });
  if (kinds == 0) return;
  log::warning("watching a kind failed, trying again",
               {{"kind", kind}, {"state", std::string(state)}, {"error", error}, {"kinds", std::to_string(kinds)}});
}

}  // namespace inference::runtime
