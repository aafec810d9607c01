#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"
#include "operator/client/api_client.h"

/// The reflector's state machine without its input and output: what a list or a watch brought, and what follows from
/// it.
///
///     Empty ──event──▶ Streaming ──end of initial events──▶ Watching ──410──▶ Empty
///       │                                                     ▲ │ end, cut, error: again from the last resourceVersion
///       ├─page──▶ Listing ──last page─────────────────────────┘ └─▶ Watching
///       │ 404
///       ▼
///     KindMissing ──event or page──▶ as Empty
///
/// A list comes as a stream (KEP-3157: `sendInitialEvents`), which costs both sides the memory of one object instead of
/// a page; in pages from a server that has no such streams.
namespace inference::runtime::reflector {

/// Nothing is known, or what is known is too old to go on from: list from the beginning. The store still serves the
/// last snapshot.
struct Empty {};
/// A streamed list has begun to come.
struct Streaming {};
/// Pages came, more are to come.
struct Listing {
  std::string continue_token;
};
/// The snapshot is in the store: watch what has happened since.
struct Watching {
  std::string resource_version;
};
/// The API server does not serve this kind (its CRD is not installed): the store is empty, and that is the truth. List
/// again now and then.
struct KindMissing {};
using State = std::variant<Empty, Streaming, Listing, Watching, KindMissing>;

/// What the state's request brought.
struct PageListed {
  client::ListPage page;
};
struct ListFailed {
  client::ApiError error;
};
struct EventReceived {
  client::WatchEvent event;
};
/// The stream is over without a word from the server.
struct StreamEnded {
  enum class How {
    kComplete,  // the server's own timeout, or a silent connection that we gave up: both are everyday
    kBrief,     // complete, but within a second and without one event: a server that accepts watches and serves none
  };
  How how = How::kComplete;
};
struct WatchFailed {
  client::ApiError error;
};
using Input = std::variant<PageListed, ListFailed, EventReceived, StreamEnded, WatchFailed>;

/// What the store is told (kube-rs' names).
struct Init {};  // a new snapshot begins
struct InitApply {
  Json object;
};
struct InitDone {};  // … and replaces the old one
struct Apply {
  Json object;
};
struct Delete {
  Json object;
};
using StoreEvent = std::variant<Init, InitApply, InitDone, Apply, Delete>;

/// How long to wait before the next request.
enum class Pause {
  kNone,
  kBackoff,  // growing, jittered
  kPoll,     // fixed: waiting for a kind to be installed is no failure
};

struct Step {
  State next;
  std::vector<StoreEvent> events = {};
  Pause pause = Pause::kNone;
  std::optional<std::chrono::seconds> at_least = std::nullopt;  // the server's Retry-After
  bool list_in_pages = false;                                   // from now on: the server has no streamed lists
};

/// Pure and total: every input is taken in every state; one that does not belong there leads back to Empty.
[[nodiscard]] Step step(State state, Input input);

/// For logs: "empty", "streaming", "listing", "watching", "kind missing".
[[nodiscard]] std::string_view name_of(const State& state);

}  // namespace inference::runtime::reflector
