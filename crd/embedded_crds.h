#pragma once

#include <string_view>

namespace inference::crd {

// The CRDs and the pod types of this folder as compact JSON, turned from YAML while building (embed_crds.cc), so that
// no binary parses YAML to start.
extern const std::string_view kInferenceDeploymentsCrd;
extern const std::string_view kInferenceProfilesCrd;
extern const std::string_view kPodTypes;

}  // namespace inference::crd
