#pragma once

#include <expected>
#include <stop_token>
#include <string>

#include "operator/client/api_client.h"
#include "render/render.h"

namespace inference::reconcilers {

/// What Kueue has behind a LocalQueue: follows it to its ClusterQueue and that one's ResourceFlavors, one request each.
/// What is not there is a fact and no error.
[[nodiscard]] std::expected<render::QueueFacts, client::ApiError> ask_queue(client::ApiClient& api,
                                                                            const std::string& ns,
                                                                            const std::string& name,
                                                                            std::stop_token stop);

}  // namespace inference::reconcilers
