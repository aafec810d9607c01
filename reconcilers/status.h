#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "reconcilers/gpus.h"
#include "reconcilers/group_restarts.h"
#include "reconcilers/workload.h"
#include "render/render.h"

namespace inference::reconcilers {

/// A child that could not be written.
struct ApplyFailure {
  enum class Kind {
    kForeign,    // an object of that name is there and is not ours: it is left alone
    kInvalid,    // the API server refuses the object: only a change of the spec helps
    kForbidden,  // a right or quota is missing: someone may grant it
    kEnding,     // the namespace is being deleted: nothing is to be done any more
    kTransient,  // tried again soon
  };
  Kind kind = Kind::kTransient;
  std::string object;   // "Service llm/m-serve"
  std::string message;  // the API server's; of a missing right it names verb and resource
  std::optional<Duration> retry_after = std::nullopt;  // of kTransient, when the server has named a time
};

/// All that status is computed from.
struct StatusInput {
  std::int64_t generation = 0;
  const Json* previous = nullptr;              // the status that stands in the API server, may be null
  const render::Rendered* rendered = nullptr;  // either this …
  const render::Refusal* refusal = nullptr;    // … or this is there
  std::string model_uri = {};                  // for CacheReady's message
  std::vector<ApplyFailure> failures = {};
  Workload workload = {};
  Pods pods = {};
  Gpus gpus = {};
  const GroupRestarts* groups = nullptr;            // of a LeaderWorkerSet
  std::optional<std::string> gated = std::nullopt;  // why a group of it waits behind our scheduling gates
  bool gated_too_long = false;                      // for longer than the startup's time
  std::string unheeded_group = {};                  // a PodGroup that the scheduler does not know (find_unheeded_group)
};

/// The whole status of an InferenceDeployment, every condition included: one pure function of what is known, so that no
/// condition can be left behind. `now` (RFC 3339) is only used where a condition's status changes; equal input
/// otherwise gives equal bytes.
[[nodiscard]] Json compute_status(const StatusInput& input, std::string_view now);

/// What changed between two statuses that a user wants to hear of.
struct Transition {
  bool warning = false;
  std::string reason;
  std::string message;
};
[[nodiscard]] std::vector<Transition> transitions(const Json* previous, const Json& current);

/// Whether `current` differs from `previous` (may be null) in more than counts and messages: in a condition's status or
/// reason, or in what was resolved.
[[nodiscard]] bool says_something_new(const Json* previous, const Json& current);

}  // namespace inference::reconcilers
