#pragma once

#include <string>

#include "operator/client/api_client.h"
#include "operator/runtime/manager.h"
#include "render/template_set.h"

namespace inference::reconcilers {

/// Adds the informers and the controller of InferenceDeployments to the manager: who is watched, and whose change
/// concerns whom. All arguments outlive the manager's run.
void add_inference_deployments(runtime::Manager& manager, const runtime::Surroundings& surroundings,
                               const render::TemplateSet& templates, std::size_t workers, std::string own_namespace);

}  // namespace inference::reconcilers
