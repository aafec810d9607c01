#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "crd/decode.h"
#include "render/decide/accelerator.h"
#include "render/decide/sizing.h"
#include "render/findings.h"
#include "render/knowledge.h"
#include "render/resolve.h"

/// What the tests of the rules share: settings from a spec as a user writes it, and questions to findings.
namespace inference::render::fixtures {

inline const Knowledge& knowledge() {
  return Knowledge::embedded();
}
inline const RuleConstants& rules() {
  return knowledge().rules;
}

inline crd::InferenceDeployment deployment_of(Json spec) {
  if (!spec.contains("model")) spec["model"] = {{"uri", "file:///var/models/m"}};
  const Json object = {{"apiVersion", crd::kApiVersion},
                       {"kind", crd::kInferenceDeploymentKind},
                       {"metadata", {{"name", "m"}}},
                       {"spec", spec}};
  auto decoded = crd::decode_inference_deployment(object);
  EXPECT_TRUE(decoded.has_value()) << to_string(decoded.error().front());
  return decoded.value_or(crd::InferenceDeployment());
}

inline Settings settings_of(const Json& spec, const Json& defaults = nullptr) {
  const auto deployment = deployment_of(spec);
  if (defaults.is_null()) return resolve(deployment.spec, nullptr, knowledge());
  const Json object = {{"apiVersion", crd::kApiVersion},
                       {"kind", crd::kInferenceProfileKind},
                       {"metadata", {{"name", "h100"}}},
                       {"spec", {{"defaults", defaults}}}};
  const auto profile = crd::decode_inference_profile(object);
  EXPECT_TRUE(profile.has_value()) << to_string(profile.error().front());
  return resolve(deployment.spec, &*profile, knowledge());
}

inline Sizing sizing_of(const Settings& settings) {
  Findings findings;
  Sizing sizing = decide_sizing(settings, rules(), findings);
  EXPECT_TRUE(findings.faults.empty());
  return sizing;
}

inline AcceleratorChoice accelerator_of(const Settings& settings) {
  Findings findings;
  AcceleratorChoice choice = decide_accelerator(settings, sizing_of(settings), findings);
  EXPECT_TRUE(findings.faults.empty());
  return choice;
}

inline bool refuses(const Findings& findings, const std::string& reason, const std::string& path) {
  return std::ranges::any_of(findings.faults,
                             [&](const auto& fault) { return fault.reason == reason && fault.error.path == path; });
}
inline bool says(const Findings& findings, const std::string& reason) {
  return std::ranges::any_of(findings.notices, [&](const Notice& notice) { return notice.reason == reason; });
}

}  // namespace inference::render::fixtures
