#pragma once

#include <string>
#include <variant>

#include "base/json.h"
#include "operator/client/api_error.h"

namespace inference::client {

struct Added {
  Json object = {};
};
struct Modified {
  Json object = {};
};
/// The last state of a deleted object; with a label selector also of an object that no longer matches.
struct Deleted {
  Json object = {};
};
/// Progress without change: a watch may resume from here. With WatchOptions::send_initial_events the first one with
/// `initial_events_end` (annotation k8s.io/initial-events-end, KEP-3157) says that the whole list has been sent.
struct Bookmark {
  std::string resource_version = {};
  bool initial_events_end = false;
};
/// An ERROR event: the server ends the stream after it. code 410 means: list again.
struct WatchError {
  ApiError error;
};

/// One event of a watch, decoded from the wire.
using WatchEvent = std::variant<Added, Modified, Deleted, Bookmark, WatchError>;

/// How a watch that had begun (200) ended. Apart from kError, resume from the last resource version seen.
struct WatchEnd {
  enum class Kind {
    kComplete,     // the server ended it, as it does after timeoutSeconds
    kIdleTimeout,  // nothing came, not even a bookmark: the peer may be gone
    kCut,          // the connection broke
    kCancelled,    // the stop token
    kError,        // a WatchError was delivered
    kMalformed,    // bytes that are no event, or an event beyond the size limit
  };
  Kind kind = Kind::kComplete;
  std::string detail = {};
};

}  // namespace inference::client
