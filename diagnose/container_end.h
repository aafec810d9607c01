#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "diagnose/engine_failure.h"

namespace inference::diagnose {

/// The container of every rendered pod that runs the engine.
inline constexpr const char* kEngineContainer = "engine";

/// That a container of a pod has ended and does not serve since.
struct ContainerEnd {
  LastWords words;
  bool backing_off = false;  // it ends again and again: the kubelet waits before each further start
  bool served = false;       // the pod was ready during the run that ended
};

/// Reads one of a pod's `containerStatuses` leniently; nothing when that container has not ended, or is ready again.
/// Whether it served follows from when the pod's Ready condition last changed: before the run began, or during it.
[[nodiscard]] std::optional<ContainerEnd> read_container_end(const Json& pod, const Json& container_status);

/// That of the engine's container.
[[nodiscard]] std::optional<ContainerEnd> read_engine_end(const Json& pod);

/// "exit code 1: TEXT" of an engine that has ended.
[[nodiscard]] std::string describe(const ContainerEnd& end, const EngineFailure& failure);

}  // namespace inference::diagnose
