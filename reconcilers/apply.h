#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "operator/client/api_client.h"
#include "reconcilers/plan.h"
#include "reconcilers/status.h"

namespace inference::reconcilers {

/// A child that was deleted so that it can be made anew.
struct Recreated {
  std::string object;  // "LeaderWorkerSet llm/m"
  std::string why;     // the field that could not be changed
};

/// What carrying out a plan came to.
struct Applied {
  std::vector<ApplyFailure> failures;
  std::vector<std::string> removed;  // "Deployment llm/m"
  std::vector<Recreated> recreated;
  std::vector<LiveChild> written;  // as the API server answered; also what it had before the cache showed it

  /// The Deployment or LeaderWorkerSet, when it was written; null otherwise.
  [[nodiscard]] const Json* workload() const;
};

/// Carries out the plan in its order: every write by server-side apply, then, if all succeeded, the removals. What is
/// to be made anew is deleted in the foreground, and written by the look that finds it gone. A stranger's object or a
/// refusal of one keeps the pods that need it from being made, and nothing else; what time may heal ends it.
[[nodiscard]] Applied apply(client::ApiClient& api, const Plan& plan, std::string_view owner_uid,
                            std::string_view reconcile_id, std::stop_token stop);

}  // namespace inference::reconcilers
