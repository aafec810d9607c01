#include "operator/runtime/reflector_state.h"

#include "operator/runtime/object_meta.h"

namespace inference::runtime::reflector {
namespace {

template <typename... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <typename... Fs>  // clang deduces an aggregate's arguments from release 17 on
Overloaded(Fs...)->Overloaded<Fs...>;

// Lists afresh; while that lasts the store serves what it has.
Step start_over(std::optional<std::chrono::seconds> at_least = std::nullopt) {
  return {.next = Empty{}, .pause = Pause::kBackoff, .at_least = at_least};
}

Step stay(State state, const client::ApiError& error) {
  return {.next = std::move(state), .pause = Pause::kBackoff, .at_least = error.retry_after};
}

Step take_page(const State& state, client::ListPage page) {
  Step step{.next = Empty{}};
  step.events.reserve(page.items.size() + 2);
  if (!std::holds_alternative<Listing>(state)) step.events.emplace_back(Init{});
  for (Json& item : page.items) step.events.emplace_back(InitApply{std::move(item)});
  if (!page.continue_token.empty()) {
    step.next = Listing{.continue_token = std::move(page.continue_token)};
    return step;
  }
  step.events.emplace_back(InitDone{});
  step.next = Watching{.resource_version = std::move(page.resource_version)};
  return step;
}

Step kind_missing(const State& state) {
  Step step{.next = KindMissing{}, .pause = Pause::kPoll};
  // No kind, no objects: what was stored is gone as well.
  if (!std::holds_alternative<KindMissing>(state)) step.events = {Init{}, InitDone{}};
  return step;
}

Step list_failed(State state, const client::ApiError& error) {
  if (error.is_not_found() && !std::holds_alternative<Listing>(state)) return kind_missing(state);
  // A continue token dies with the compaction of its revision (410), and with its kind (404): the pages must be fetched
  // anew.
  if (error.is_gone() || error.is_not_found()) return start_over(error.retry_after);
  return stay(std::move(state), error);
}

// A server that knows no streamed lists refuses their parameters (400, 422), or, older still, ignores them and never
// says that the list is complete.
Step fall_back_to_pages() {
  return {.next = Empty{}, .list_in_pages = true};
}

Step stream_failed(State state, const client::ApiError& error) {
  const bool begun = std::holds_alternative<Streaming>(state);
  if (error.is_not_found() && !begun) return kind_missing(state);
  if (error.is_invalid() || error.code == 400) return fall_back_to_pages();
  // Half a list is worth nothing.
  return begun ? start_over(error.retry_after) : stay(std::move(state), error);
}

// One event of a streamed list, up to the bookmark that ends it.
Step take_initial_event(State state, client::WatchEvent event) {
  Step step{.next = Streaming{}};
  if (!std::holds_alternative<Streaming>(state)) step.events.emplace_back(Init{});
  if (auto* const failed = std::get_if<client::WatchError>(&event))
    return stream_failed(std::move(state), failed->error);
  if (auto* const added = std::get_if<client::Added>(&event)) {
    if (!ref_of(added->object).name.empty()) step.events.emplace_back(InitApply{std::move(added->object)});
    return step;
  }
  auto* const bookmark = std::get_if<client::Bookmark>(&event);
  if (bookmark == nullptr) return start_over();  // a change of what has not been listed
  if (!bookmark->initial_events_end) return step;
  step.events.emplace_back(InitDone{});
  step.next = Watching{.resource_version = std::move(bookmark->resource_version)};
  return step;
}

// The watch goes on from where the object leaves it.
template <typename Event>
Step changed(Watching state, Json object) {
  std::string version = resource_version_of(object);
  if (!version.empty()) state.resource_version = std::move(version);
  Step step{.next = std::move(state)};
  // An object without a name can't be stored; the API server sends none.
  if (!ref_of(object).name.empty()) step.events.emplace_back(Event{std::move(object)});
  return step;
}

// Whether watching again from the same version would fail the same way. Besides 410 and 404: 400 and 422, a version the
// server can't read; 504, one that is ahead of the server's, after etcd was restored from a backup (client-go's
// IsTooLargeResourceVersion); and an event that we can't take, which would come again first.
bool needs_list(const client::ApiError& error) {
  using Kind = client::ApiError::Kind;
  if (error.kind == Kind::kTooLarge || error.kind == Kind::kMalformed) return true;
  return error.kind == Kind::kStatus &&
         (error.code == 400 || error.is_not_found() || error.is_gone() || error.is_invalid() || error.code == 504);
}

Step watch_failed(Watching state, const client::ApiError& error) {
  if (needs_list(error)) return start_over(error.retry_after);
  return stay(std::move(state), error);
}

Step take_event(Watching state, client::WatchEvent event) {
  return std::visit(
      Overloaded{
          [&](client::Added& added) { return changed<Apply>(std::move(state), std::move(added.object)); },
          [&](client::Modified& modified) { return changed<Apply>(std::move(state), std::move(modified.object)); },
          [&](client::Deleted& deleted) { return changed<Delete>(std::move(state), std::move(deleted.object)); },
          [&](client::Bookmark& bookmark) {
            if (!bookmark.resource_version.empty()) state.resource_version = std::move(bookmark.resource_version);
            return Step{.next = std::move(state)};
          },
          [&](client::WatchError& failed) { return watch_failed(std::move(state), failed.error); },
      },
      event);
}

Step stream_ended(Watching state, StreamEnded ended) {
  const Pause pause = ended.how == StreamEnded::How::kBrief ? Pause::kBackoff : Pause::kNone;
  return {.next = std::move(state), .pause = pause};
}

}  // namespace

Step step(State state, Input input) {
  Watching* const watching = std::get_if<Watching>(&state);
  const bool of_a_list = std::holds_alternative<PageListed>(input) || std::holds_alternative<ListFailed>(input);
  const bool may_list = watching == nullptr && !std::holds_alternative<Streaming>(state);
  if (of_a_list ? !may_list : std::holds_alternative<Listing>(state)) return start_over();
  return std::visit(Overloaded{
                        [&](PageListed& listed) { return take_page(state, std::move(listed.page)); },
                        [&](ListFailed& failed) { return list_failed(std::move(state), failed.error); },
                        [&](EventReceived& received) {
                          return watching != nullptr ? take_event(std::move(*watching), std::move(received.event))
                                                     : take_initial_event(std::move(state), std::move(received.event));
                        },
                        [&](StreamEnded& ended) {
                          return watching != nullptr ? stream_ended(std::move(*watching), ended) : fall_back_to_pages();
                        },
                        [&](WatchFailed& failed) {
                          return watching != nullptr ? watch_failed(std::move(*watching), failed.error)
                                                     : stream_failed(std::move(state), failed.error);
                        },
                    },
                    input);
}

std::string_view name_of(const State& state) {
  return std::visit(Overloaded{[](const Empty&) { return std::string_view("empty"); },
                               [](const Streaming&) { return std::string_view("streaming"); },
                               [](const Listing&) { return std::string_view("listing"); },
                               [](const Watching&) { return std::string_view("watching"); },
                               [](const KindMissing&) { return std::string_view("kind missing"); }},
                    state);
}

}  // namespace inference::runtime::reflector
