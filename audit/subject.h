#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "audit/devices.h"
#include "audit/engine.h"
#include "audit/surroundings.h"
#include "audit/workload.h"

namespace inference::audit {

/// A container with GPUs, and all that the rules ask about it.
struct GpuContainer {
  const PodTemplate* pod = nullptr;
  const Container* container = nullptr;
  Devices devices;
  Engine engine;
  bool serves = false;  // answers requests over the network

  [[nodiscard]] const std::string& pointer() const { return container->pointer; }
};

/// What the rules judge: a workload that runs GPUs.
struct Subject {
  const Workload* workload = nullptr;
  const Surroundings* around = nullptr;
  const render::Knowledge* knowledge = nullptr;
  std::vector<GpuContainer> containers;  // main ones and sidecars with GPUs
  std::vector<const PodTemplate*> pods;  // the templates that have one of them
  bool multi_node = false;               // its pods work on one model, or one training, together
  bool queued = false;                   // Kueue's ResourceFlavor may add node selectors and tolerations

  [[nodiscard]] const Json& object() const { return *workload->object; }
};

/// All arguments must outlive the result. No `pods` means that nothing of it is to be judged.
[[nodiscard]] Subject make_subject(const Workload& workload, const Surroundings& around,
                                   const render::Knowledge& knowledge);

}  // namespace inference::audit
