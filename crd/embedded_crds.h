#pragma once

#include <string_view>

namespace inference::crd {

// The CRDs of this folder as compact JSON, turned from YAML while building (embed_crds.cc), so that no binary parses
// YAML to start.
extern const std::string_view kInferenceDeploymentsCrd;
extern const std::string_view kInferenceProfilesCrd;

}  // namespace inference::crd
