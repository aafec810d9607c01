#include "operator/runtime/reflector_state.h"

#include <gtest/gtest.h>

#include "operator/runtime/testing/scripted_list_watch.h"

namespace inference::runtime::reflector {
namespace {

using runtime::testing::make_object;
using runtime::testing::status_error;
using Kind = client::ApiError::Kind;

client::ApiError broken(Kind kind) {
  client::ApiError error;
  error.kind = kind;
  return error;
}

// "state:detail" and what the store is told, in one line, so that the table below can be read.
std::string print(const State& state) {
  std::string text(name_of(state));
  if (const auto* listing = std::get_if<Listing>(&state)) text += ":" + listing->continue_token;
  if (const auto* watching = std::get_if<Watching>(&state)) text += ":" + watching->resource_version;
  return text;
}

std::string print(const Step& step) {
  std::string text = print(step.next);
  for (const StoreEvent& event : step.events) {
    constexpr const char* kNames[] = {"init", "init-apply", "init-done", "apply", "delete"};
    text += std::string(" ") + kNames[event.index()];
  }
  if (step.pause == Pause::kBackoff) text += ", backoff";
  if (step.pause == Pause::kPoll) text += ", poll";
  if (step.list_in_pages) text += ", in pages";
  if (step.at_least.has_value()) text += ", at least " + std::to_string(step.at_least->count());
  return text;
}

Input page(std::size_t items, const std::string& token, const std::string& version) {
  client::ListPage page{.items = {}, .continue_token = token, .resource_version = version};
  for (std::size_t i = 0; i < items; ++i) page.items.push_back(make_object("o" + std::to_string(i), "1"));
  return PageListed{std::move(page)};
}
Input list_failed(int code) {
  return ListFailed{status_error(code)};
}
Input watch_failed(int code) {
  return WatchFailed{status_error(code)};
}
Input error_event(int code) {
  return EventReceived{client::WatchError{status_error(code)}};
}
template <typename Event>
Input event(const std::string& version) {
  return EventReceived{Event{make_object("a", version)}};
}

struct Row {
  State state;
  Input input;
  const char* expected;
};

TEST(ReflectorState, FollowsItsTable) {
  client::ApiError busy = status_error(429);
  busy.retry_after = std::chrono::seconds{7};
  const State empty = Empty{};
  const State listing = Listing{"p2"};
  const State watching = Watching{"5"};
  const State missing = KindMissing{};
  const State streaming = Streaming{};
  const Input list_ends = EventReceived{client::Bookmark{.resource_version = "9", .initial_events_end = true}};
  const std::vector<Row> rows = {
      {empty, page(2, "", "9"), "watching:9 init init-apply init-apply init-done"},
      {empty, page(0, "", "9"), "watching:9 init init-done"},
      {empty, page(1, "p2", "9"), "listing:p2 init init-apply"},
      {listing, page(1, "p3", "9"), "listing:p3 init-apply"},
      {listing, page(1, "", "9"), "watching:9 init-apply init-done"},
      {missing, page(1, "", "9"), "watching:9 init init-apply init-done"},
      // A list that fails.
      {empty, list_failed(404), "kind missing init init-done, poll"},
      {missing, list_failed(404), "kind missing, poll"},
      {missing, list_failed(500), "kind missing, backoff"},
      {empty, list_failed(403), "empty, backoff"},
      {listing, list_failed(500), "listing:p2, backoff"},
      {listing, list_failed(410), "empty, backoff"},
      {listing, list_failed(404), "empty, backoff"},
      {empty, ListFailed{busy}, "empty, backoff, at least 7"},
      {listing, ListFailed{broken(Kind::kCut)}, "listing:p2, backoff"},
      // What a watch brings.
      {watching, event<client::Added>("6"), "watching:6 apply"},
      {watching, event<client::Modified>("7"), "watching:7 apply"},
      {watching, event<client::Deleted>("8"), "watching:8 delete"},
      {watching, event<client::Added>(""), "watching:5 apply"},
      {watching, EventReceived{client::Added{Json::object()}}, "watching:5"},
      {watching, EventReceived{client::Bookmark{.resource_version = "40"}}, "watching:40"},
      {watching, error_event(410), "empty, backoff"},
      {watching, error_event(504), "empty, backoff"},
      {watching, error_event(500), "watching:5, backoff"},
      // How a watch ends.
      {watching, StreamEnded{StreamEnded::How::kComplete}, "watching:5"},
      {watching, StreamEnded{StreamEnded::How::kBrief}, "watching:5, backoff"},
      {watching, WatchFailed{broken(Kind::kCut)}, "watching:5, backoff"},
      {watching, WatchFailed{broken(Kind::kConnect)}, "watching:5, backoff"},
      {watching, WatchFailed{broken(Kind::kMalformed)}, "empty, backoff"},
      {watching, WatchFailed{broken(Kind::kTooLarge)}, "empty, backoff"},
      {watching, watch_failed(404), "empty, backoff"},
      {watching, watch_failed(410), "empty, backoff"},
      {watching, watch_failed(400), "empty, backoff"},
      {watching, watch_failed(403), "watching:5, backoff"},
      {watching, watch_failed(503), "watching:5, backoff"},
      {watching, WatchFailed{busy}, "watching:5, backoff, at least 7"},
      // What can't be: start over.
      {watching, page(1, "", "9"), "empty, backoff"},
      {streaming, page(1, "", "9"), "empty, backoff"},
      {listing, event<client::Added>("6"), "empty, backoff"},
      {listing, watch_failed(500), "empty, backoff"},
      {streaming, event<client::Modified>("6"), "empty, backoff"},
      {empty, event<client::Deleted>("6"), "empty, backoff"},
      // A streamed list.
      {empty, event<client::Added>("6"), "streaming init init-apply"},
      {missing, event<client::Added>("6"), "streaming init init-apply"},
      {streaming, event<client::Added>("7"), "streaming init-apply"},
      {streaming, EventReceived{client::Bookmark{.resource_version = "8"}}, "streaming"},
      {streaming, list_ends, "watching:9 init-done"},
      {empty, list_ends, "watching:9 init init-done"},
      {missing, list_ends, "watching:9 init init-done"},
      // … that fails.
      {empty, watch_failed(404), "kind missing init init-done, poll"},
      {missing, watch_failed(404), "kind missing, poll"},
      {missing, watch_failed(500), "kind missing, backoff"},
      {empty, watch_failed(403), "empty, backoff"},
      {empty, error_event(500), "empty, backoff"},
      {streaming, watch_failed(500), "empty, backoff"},
      {streaming, error_event(410), "empty, backoff"},
      {streaming, WatchFailed{broken(Kind::kCut)}, "empty, backoff"},
      {streaming, WatchFailed{busy}, "empty, backoff, at least 7"},
      // … that the server does not have.
      {empty, watch_failed(422), "empty, in pages"},
      {missing, watch_failed(400), "empty, in pages"},
      {empty, StreamEnded{StreamEnded::How::kComplete}, "empty, in pages"},
      {streaming, StreamEnded{StreamEnded::How::kComplete}, "empty, in pages"},
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(print(step(rows[i].state, rows[i].input)), rows[i].expected)
        << "row " << i << ", " << print(rows[i].state);
  }
}

}  // namespace
}  // namespace inference::runtime::reflector
