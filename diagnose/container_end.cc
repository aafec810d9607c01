#include "diagnose/container_end.h"

#include "base/json_members.h"

namespace inference::diagnose {
namespace {

/// When the pod became ready, or ceased to be; empty when it does not say.
std::string ready_since(const Json& pod) {
  return text_at(condition_of(pod, "Ready"), "lastTransitionTime");
}

}  // namespace

std::optional<ContainerEnd> read_container_end(const Json& pod, const Json& container_status) {
  if (member(container_status, "ready") == true) return std::nullopt;
  const Json& state = member(container_status, "state");
  const Json& now = member(state, "terminated");
  const Json& ended = now.is_object() ? now : member(member(container_status, "lastState"), "terminated");
  const bool backing_off = text_at(member(state, "waiting"), "reason") == "CrashLoopBackOff";
  if (!ended.is_object() && !backing_off) return std::nullopt;
  ContainerEnd end;
  end.words = {.exit_code = integer_at(ended, "exitCode"),
               .reason = text_at(ended, "reason"),
               .message = text_at(ended, "message")};
  end.backing_off = backing_off;
  // Both are written by kubelets as RFC 3339 in UTC with seconds, which sorts by time.
  const std::string started = text_at(ended, "startedAt");
  end.served = !started.empty() && ready_since(pod) > started;
  return end;
}

std::optional<ContainerEnd> read_engine_end(const Json& pod) {
  for (const Json& status : member(member(pod, "status"), "containerStatuses")) {
    if (text_at(status, "name") == kEngineContainer) return read_container_end(pod, status);
  }
  return std::nullopt;
}

std::string describe(const ContainerEnd& end, const EngineFailure& failure) {
  std::string text = "exit code " + std::to_string(end.words.exit_code);
  const std::string why = failure.text();
  return why.empty() ? text : text + ": " + why;
}

}  // namespace inference::diagnose
