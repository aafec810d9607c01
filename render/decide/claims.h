#pragma once

#include <optional>
#include <string>
#include <vector>

#include "crd/inference_deployment.h"
#include "render/decide/accelerator.h"
#include "render/decide/names.h"
#include "render/decide/sizing.h"
#include "render/findings.h"
#include "render/knowledge.h"
#include "render/render.h"
#include "render/resolve.h"
#include "render/values.h"

namespace inference::render {

/// Names of a pod's claims, by which its containers refer to them.
inline constexpr const char* kGpuClaim = "gpus";
inline constexpr const char* kChannelClaim = "channel";

/// What pods claim by Dynamic Resource Allocation.
struct ClaimChoice {
  std::optional<ClaimValues> gpus;             // none: the device plugin gives them
  std::optional<Traced<std::string>> channel;  // template of the ComputeDomain's channel; none: no memory between nodes
};

/// Refuses what a claim can't say and what the cluster does not serve.
[[nodiscard]] ClaimChoice decide_claims(const Settings& settings, const Sizing& sizing,
                                        const AcceleratorChoice& accelerator, const Names& names, crd::Gang gang,
                                        const ClusterFacts& cluster, const RuleConstants& rules, Findings& findings);

/// The expression with a guard for each attribute and capacity that it reads: a device that lacks one is then not
/// taken, where the error would end the search for all devices. One that asks has() itself, in any form, stays as it
/// is.
[[nodiscard]] std::string guarded(const std::string& expression);

/// The claims of a pod: their names, and the templates that they are made from.
using PodClaims = std::vector<std::pair<std::string, Traced<std::string>>>;
/// As a pod lists them, and as a container does; nothing where there are none.
[[nodiscard]] std::optional<HoleValue> pod_claims(const PodClaims& claims);
[[nodiscard]] std::optional<HoleValue> container_claims(const PodClaims& claims);

}  // namespace inference::render
