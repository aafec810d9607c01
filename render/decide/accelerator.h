#pragma once

#include <optional>
#include <string>

#include "render/decide/sizing.h"
#include "render/findings.h"
#include "render/resolve.h"
#include "render/traced.h"

namespace inference::render {

/// How a pod gets its GPUs, and which nodes have such.
struct AcceleratorChoice {
  crd::AcceleratorMode mode = crd::AcceleratorMode::kDevicePlugin;
  crd::Sharing sharing = crd::Sharing::kNone;  // kMig also where only a profile is named
  Traced<std::string> resource_name;           // of the device plugin; a claim takes its place with kDra
  Traced<std::string> toleration_key;          // of the taint on GPU nodes
  std::optional<HoleValue> node_selector;      // labels of NVIDIA's feature discovery
  std::string node_configuration;              // file of config/gpu-sharing, without .yaml; empty: whole GPUs

  [[nodiscard]] bool claims() const { return mode == crd::AcceleratorMode::kDra; }
};

/// Refuses what the ways of sharing exclude, and tells what isolation is missing and how the nodes must be set up.
[[nodiscard]] AcceleratorChoice decide_accelerator(const Settings& settings, const Sizing& sizing, Findings& findings);

/// A MIG profile as NVIDIA's DRA driver spells it: `1g.10gb+me` also where the spec says `1g.10gb.me`.
[[nodiscard]] std::string mig_profile(const std::string& written);

}  // namespace inference::render
