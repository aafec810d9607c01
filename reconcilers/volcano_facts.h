#pragma once

#include <stop_token>
#include <string>

#include "operator/client/api_client.h"
#include "render/render.h"

namespace inference::reconcilers {

/// The pod by which `ask_volcano` tries: the leader of a group that does not exist, in the operator's own namespace.
[[nodiscard]] Json volcano_probe(const std::string& ns);

/// Who gives the pods of a group one PodGroup of Volcano, written into `facts`: what admission makes of a leader pod
/// that is created as a dry run. LeaderWorkerSet's webhook (sideEffects: None, so it is called then too) writes a
/// group's name with the revision in it when its provider is on; the policy of config/gang, which runs before it,
/// writes the pod's own name. The provider's configuration can be read nowhere.
void ask_volcano(client::ApiClient& api, const std::string& ns, render::ClusterFacts& facts, std::stop_token stop);

}  // namespace inference::reconcilers
