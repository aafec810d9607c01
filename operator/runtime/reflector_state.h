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
///     Empty ──page──▶ Listing ──last page──▶ Watching ──410──▶ Empty
///       │ 404                                   ▲ │ end, cut, error: again from the last resourceVersion
///       ▼                                       └─┘
///     KindMissing ──page──▶ as Empty
namespace inference::runtime::reflector {

/// Nothing is known, or what is known is too old to go on from: list from the first page. The store still serves the
/// last snapshot.
struct Empty {};
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
using State = std::variant<Empty, Listing, Watching, KindMissing>;

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
  std::vector<StoreEvent> events;
  Pause pause = Pause::kNone;
  std::optional<std::chrono::seconds> at_least;  // the server's Retry-After
};

/// Pure and total: every input is taken in every state; one that does not belong there leads back to Empty.
[[nodiscard]] Step step(State state, Input input);

/// For logs: "empty", "listing", "watching", "kind missing".
[[nodiscard]] std::string_view name_of(const State& state);

}  // namespace inference::runtime::reflector
