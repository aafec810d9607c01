#pragma once

#include <string>

#include "reconcilers/status.h"

/// What the tests of status share: six replicas of two GPUs or more, and questions to their status.
namespace inference::reconcilers::fixtures {

inline constexpr const char* kThen = "2026-11-30T12:00:00Z";
inline constexpr const char* kLater = "2026-11-30T12:05:00Z";

inline render::Rendered six_replicas() {
  render::Rendered rendered;
  rendered.objects = {Json::object(), Json::object()};
  rendered.resolved = {{"gpusPerPod", 8}};
  rendered.selector = "inference-operator.dev/name=m";
  rendered.replicas = 6;
  return rendered;
}

inline Workload serving(std::int64_t ready) {
  return {.exists = true,
          .current = true,
          .api_version = "apps/v1",
          .kind = "Deployment",
          .name = "m",
          .wanted = 6,
          .replicas = 6,
          .updated = 6,
          .ready = ready,
          .available = ready,
          .max_unavailable = 1,
          .paused = false,
          .deadline_exceeded = {},
          .create_failed = {}};
}

inline Json condition(const Json& status, const std::string& type) {
  for (const Json& item : status["conditions"]) {
    if (item["type"] == type) return item;
  }
  return nullptr;
}
inline std::string verdict(const Json& status, const std::string& type) {
  const Json found = condition(status, type);
  return found.is_null() ? "absent" : found["status"].get<std::string>() + "/" + found["reason"].get<std::string>();
}

}  // namespace inference::reconcilers::fixtures
