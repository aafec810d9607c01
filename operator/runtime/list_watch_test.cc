#include "operator/runtime/list_watch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "operator/client/testing/fake_http_server.h"
#include "operator/runtime/informer.h"
#include "operator/runtime/object_meta.h"

namespace inference::runtime {
namespace {

using client::FakeConnection;
using client::FakeRequest;
using Lines = std::vector<std::string>;

std::string list_of(const char* name, const char* version, const char* token) {
  return Json{{"kind", "PodList"},
              {"metadata", {{"resourceVersion", version}, {"continue", token}}},
              {"items", {{{"metadata", {{"name", name}, {"namespace", "ns"}, {"resourceVersion", version}}}}}}}
      .dump();
}

std::string event_of(const char* type, const char* name, const char* version) {
  const Json object = {
      {"metadata",
       {{"name", name}, {"namespace", "ns"}, {"resourceVersion", version}, {"managedFields", {{{"manager", "x"}}}}}}};
  return Json{{"type", type}, {"object", object}}.dump() + "\n";
}

// No streamed lists. First a list of two pages and a watch that brings an event in two pieces, ends with 410; then a
// shorter list and a watch that stays quiet.
void serve(std::atomic<int>& turn, FakeConnection& connection, const FakeRequest&) {
  switch (turn++) {
    case 0:
      return connection.respond(422, R"({"kind":"Status","code":422,"reason":"Invalid"})");
    case 1:
      return connection.respond(200, list_of("a", "10", "p2"));
    case 2:
      return connection.respond(200, list_of("b", "11", ""));
    case 3: {
      connection.begin_chunked(200);
      const std::string event = event_of("ADDED", "c", "12");
      connection.chunk(std::string_view(event).substr(0, 17));
      connection.chunk(std::string_view(event).substr(17));
      connection.chunk(R"({"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}})"
                       "\n");
      return connection.end_chunked();
    }
    case 4:
      return connection.respond(200, list_of("b", "11", ""));
    default:
      connection.begin_chunked(200);
      (void)connection.wait_until_closed();
  }
}

// The whole way from bytes to handlers, in real time: one pause of 0.8 to 1.6 s.
TEST(ApiListWatch, CarriesAnInformerThroughPagesEventsAndAnExpiredVersion) {
  SystemClock clock;
  SeededRandom random(1);
  Metrics metrics;
  std::atomic<int> turn = 0;
  client::FakeHttpServer server([&turn](FakeConnection& c, const FakeRequest& r) { serve(turn, c, r); });
  client::ClientConfig config;
  config.server = server.url();
  auto api = client::ApiClient::make(config, clock);
  ASSERT_TRUE(api.has_value()) << api.error().message;

  std::mutex mutex;
  std::condition_variable changed;
  Lines heard;  // guarded by mutex
  Informer informer(
      {.kind = "Pod", .indexes = {}},
      std::make_unique<ApiListWatch>(**api, client::resources::kPod, Selection{.ns = {}, .label_selector = "app=x"}),
      metrics, clock, random);
  informer.on_change([&](const Change& change) {
    const std::scoped_lock lock(mutex);
    EXPECT_FALSE(change.after != nullptr && (*change.after)["metadata"].contains("managedFields"));
    heard.push_back((change.after == nullptr ? "-" : "+") + change.ref.name);
    changed.notify_all();
  });
  informer.start();
  EXPECT_TRUE(informer.wait_for_sync(clock.now() + std::chrono::seconds{60}, {}));
  {
    std::unique_lock lock(mutex);
    EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds{60}, [&] { return heard.size() >= 5; }));
    EXPECT_EQ(heard, (Lines{"+a", "+b", "+c", "-a", "-c"}));
  }
  EXPECT_EQ(informer.lister().size(), 1u);
  EXPECT_TRUE(server.wait_for_requests(6));
  informer.request_stop();
  EXPECT_TRUE(informer.wait_stopped(clock.now() + std::chrono::seconds{5}));

  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 6u);
  const auto has = [&requests](std::size_t i, const char* text) {
    return requests[i].target.find(text) != std::string::npos;
  };
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_TRUE(requests[i].target.starts_with("/api/v1/pods?")) << requests[i].target;
    EXPECT_TRUE(has(i, "labelSelector=app%3Dx")) << requests[i].target;
  }
  EXPECT_TRUE(has(0, "sendInitialEvents=true") && has(0, "allowWatchBookmarks=")) << requests[0].target;
  EXPECT_TRUE(has(1, "limit=500") && !has(1, "continue=")) << requests[1].target;
  EXPECT_TRUE(has(2, "continue=p2")) << requests[2].target;
  EXPECT_TRUE(has(3, "resourceVersion=11") && has(3, "allowWatchBookmarks=")) << requests[3].target;
  EXPECT_FALSE(has(4, "continue=")) << requests[4].target;
}

}  // namespace
}  // namespace inference::runtime
