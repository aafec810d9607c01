#pragma once

#include <chrono>
#include <optional>

#include "operator/client/api_error.h"

namespace inference::client {

/// What helps against an error of the API server; the one place where callers learn what a code means for them.
struct ErrorClass {
  enum class Remedy {
    kStop,     // we were cancelled: nothing failed
    kRefetch,  // what we knew was out of date (409, 410): read again, decide anew, soon
    kChange,   // the server refuses what we sent (400, 422 and their like): the same bytes get the same answer
    kGrant,    // a right or quota is missing (403): someone has to give it, so ask seldom
    kEnding,   // the namespace is being deleted: nothing is to be done any more
    kWait,     // the server says when it can (429 and 503 with Retry-After): not before
    kBackoff,  // it may heal by itself (5xx, broken connection, timeout, credentials to be renewed): growing pauses
  };
  Remedy remedy = Remedy::kBackoff;
  std::optional<std::chrono::seconds> retry_after = std::nullopt;  // of kWait

  bool operator==(const ErrorClass&) const = default;
};

/// Pure and total. 404 is kBackoff: callers that expect it ask `is_not_found()` first, and for the others the kind or
/// namespace may come.
[[nodiscard]] ErrorClass classify(const ApiError& error);

}  // namespace inference::client
