#include "operator/runtime/reflector.h"

#include <algorithm>
#include <optional>

#include "base/logging.h"
#include "operator/runtime/object_meta.h"

namespace inference::runtime {
namespace {

using reflector::State;
using reflector::Step;

// How often to look for a kind that is not served. One small request; people who install a CRD wait for this long at
// most.
constexpr Duration kPollMissingKind = std::chrono::seconds{30};

// The server is asked to end each watch after 5 to 10 minutes, at random: a restarted API server's clients spread out
// again (client-go's figures).
constexpr double kMinWatchSeconds = 300;

// A watch that ends sooner without one event is no timeout but a server that can't serve (client-go's
// VeryShortWatchError).
constexpr Duration kBriefWatch = std::chrono::seconds{1};

// The stream's end in the words of the state machine.
reflector::Input input_of(client::WatchEnd end, bool brief) {
  using Kind = client::WatchEnd::Kind;
  using How = reflector::StreamEnded::How;
  const auto failed = [&end](client::ApiError::Kind kind) {
    client::ApiError error;
    error.kind = kind;
    error.message = std::move(end.detail);
    return reflector::WatchFailed{.error = std::move(error)};
  };
  switch (end.kind) {
    case Kind::kComplete:
      return reflector::StreamEnded{.how = brief ? How::kBrief : How::kComplete};
    case Kind::kIdleTimeout:
      return reflector::StreamEnded{.how = How::kComplete};
    case Kind::kCut:
      return failed(client::ApiError::Kind::kCut);
    case Kind::kCancelled:
      return failed(client::ApiError::Kind::kCancelled);
    case Kind::kMalformed:
      return failed(client::ApiError::Kind::kMalformed);
    // Its WatchError has been taken already; should none have come, the stream's state is unknown.
    case Kind::kError:
      return failed(client::ApiError::Kind::kMalformed);
  }
  throw std::logic_error("unknown end of a watch");
}

}  // namespace

Reflector::Reflector(Settings settings, ListWatch& source, StoreWriter& store, ReflectorListener listener,
                     InformerMetrics metrics, Clock& clock, Random& random)
    : settings_(std::move(settings)),
      source_(source),
      store_(store),
      listener_(std::move(listener)),
      metrics_(metrics),
      clock_(clock),
      random_(random),
      backoff_(clock, random) {}

void Reflector::run(std::stop_token stop) {
  State state = reflector::Empty{};
  while (!stop.stop_requested()) {
    const bool by_watch = std::holds_alternative<reflector::Watching>(state) ||
                          (!list_in_pages_ && !std::holds_alternative<reflector::Listing>(state));
    Step step = by_watch ? watch(std::move(state), stop) : list(std::move(state), stop);
    if (stop.stop_requested()) return;
    state = carry_out(step);
    pause(step.pause, step.at_least, stop);
  }
}

State Reflector::carry_out(Step& step) {
  // Before the store says that it has synced: whoever waits for that then reads served().
  note_state(step.next);
  if (step.list_in_pages && !std::exchange(list_in_pages_, true)) {
    log::info("the API server streams no lists of this kind, listing in pages", {{"kind", settings_.kind}});
  }
  apply(std::move(step.events));
  if (const auto* const watching = std::get_if<reflector::Watching>(&step.next)) {
    store_.advance(watching->resource_version);
  }
  return std::move(step.next);
}

Step Reflector::list(State state, std::stop_token stop) {
  const auto* const listing = std::get_if<reflector::Listing>(&state);
  auto page = source_.list(listing == nullptr ? std::string() : listing->continue_token, stop);
  if (page.has_value()) {
    return reflector::step(std::move(state), reflector::PageListed{.page = std::move(*page)});
  }
  if (!stop.stop_requested()) note_error(page.error(), state);
  return reflector::step(std::move(state), reflector::ListFailed{.error = std::move(page.error())});
}

Step Reflector::watch(State state, std::stop_token stop) {
  std::optional<Step> failed;  // by an ERROR event; the server sends nothing after it
  bool quiet = true;
  const auto on_event = [&](client::WatchEvent event) {
    if (failed.has_value() || stop.stop_requested()) return;
    quiet = false;
    const auto* const error = std::get_if<client::WatchError>(&event);
    if (error != nullptr) note_error(error->error, state);
    const bool is_error = error != nullptr;
    Step step = reflector::step(std::move(state), reflector::EventReceived{.event = std::move(event)});
    if (is_error) {
      failed = std::move(step);
    } else {
      state = carry_out(step);
    }
  };
  const TimePoint began = clock_.now();
  auto end = open(state, on_event, stop);

  if (stop.stop_requested()) return {.next = std::move(state)};
  if (std::holds_alternative<reflector::Watching>(state)) metrics_.watch_restarted();
  if (failed.has_value()) return std::move(*failed);
  const bool brief = quiet && clock_.now() - began < kBriefWatch;
  reflector::Input input = end.has_value() ? input_of(std::move(*end), brief)
                                           : reflector::Input{reflector::WatchFailed{.error = std::move(end.error())}};
  if (const auto* const error = std::get_if<reflector::WatchFailed>(&input)) note_error(error->error, state);
  return reflector::step(std::move(state), std::move(input));
}

std::expected<client::WatchEnd, client::ApiError> Reflector::open(
    const State& state, const std::function<void(client::WatchEvent)>& on_event, std::stop_token stop) {
  const auto timeout = std::chrono::seconds{static_cast<std::int64_t>(kMinWatchSeconds * (1 + random_.uniform()))};
  const auto* const watching = std::get_if<reflector::Watching>(&state);
  if (watching == nullptr) return source_.stream(timeout, on_event, stop);
  // A copy: the state moves on with each event.
  const std::string from = watching->resource_version;
  return source_.watch(from, timeout, on_event, stop);
}

void Reflector::apply(std::vector<reflector::StoreEvent> events) {
  for (reflector::StoreEvent& event : events) {
    if (auto* const item = std::get_if<reflector::InitApply>(&event)) {
      store_.add_to_snapshot(item->object);
    } else if (auto* const changed = std::get_if<reflector::Apply>(&event)) {
      publish(store_.apply(std::move(changed->object)));
    } else if (auto* const deleted = std::get_if<reflector::Delete>(&event)) {
      publish(store_.remove(ref_of(deleted->object)));
    } else if (std::holds_alternative<reflector::Init>(event)) {
      store_.begin_snapshot();
    } else {
      finish_snapshot();
    }
  }
}

void Reflector::finish_snapshot() {
  last_error_.with([](std::string& text) { text.clear(); });
  metrics_.listed();
  store_.commit_snapshot(listener_.on_change);
  metrics_.objects(store_.lister().size());
  // Last: who sees has_synced() also finds every key enqueued.
  if (!synced_.exchange(true)) listener_.on_synced();
}

void Reflector::publish(const Change& change) {
  if (change.before == nullptr && change.after == nullptr) return;
  if (change.before == nullptr || change.after == nullptr) metrics_.objects(store_.lister().size());
  listener_.on_change(change);
}

void Reflector::note_state(const State& state) {
  if (std::holds_alternative<reflector::Empty>(state)) return;  // says nothing about the kind
  const bool served = !std::holds_alternative<reflector::KindMissing>(state);
  if (served_known_ && served == served_) return;
  if (!served) {
    log::info("kind is not served, waiting for it", {{"kind", settings_.kind}});
  } else if (served_known_) {
    log::info("kind is served now", {{"kind", settings_.kind}});
  }
  served_known_ = true;
  served_ = served;
  listener_.on_served(served);
}

void Reflector::note_error(const client::ApiError& error, const State& state) {
  const std::string text = error.to_string();
  last_error_.with([&text](std::string& last) { last = text; });
  // Expected: a kind that is not installed, and a version that has aged.
  if (error.is_not_found() || error.is_gone()) return;
  if (settings_.failures != nullptr) settings_.failures->note(settings_.kind, reflector::name_of(state), text);
}

std::string Reflector::last_error() const {
  return last_error_.with([](const std::string& text) { return text; });
}

void Reflector::pause(reflector::Pause kind, std::optional<std::chrono::seconds> at_least, std::stop_token stop) {
  Duration duration = Duration::zero();
  if (kind == reflector::Pause::kBackoff) duration = backoff_.next();
  if (kind == reflector::Pause::kPoll) duration = kPollMissingKind;
  if (at_least.has_value()) duration = std::max(duration, Duration{*at_least});
  if (duration > Duration::zero()) (void)sleep(clock_, duration, stop);
}

}  // namespace inference::runtime
