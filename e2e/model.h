#pragma once

#include <string>

#include "base/json.h"

namespace inference::e2e {

/// A short InferenceDeployment of one replica with 8 GPUs; `spec` is laid over its spec, key by key.
[[nodiscard]] inline Json model(const std::string& ns, const std::string& name, const Json& spec = Json::object()) {
  Json full = {{"model", {{"uri", "file:///var/cache/models/m"}}}, {"parallelism", {{"tensor", 8}}}, {"replicas", 1}};
  full.update(spec);
  return {{"apiVersion", "inference-operator.dev/v1alpha1"},
          {"kind", "InferenceDeployment"},
          {"metadata", {{"name", name}, {"namespace", ns}}},
          {"spec", full}};
}

}  // namespace inference::e2e
