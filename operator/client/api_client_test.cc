#include "operator/client/api_client.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/fake_clock.h"
#include "operator/client/testing/fake_http_server.h"
#include "operator/client/testing/temporary_folder.h"

namespace inference::client {
namespace {

using namespace std::chrono_literals;
using namespace resources;

const Json kWeb = {
    {"apiVersion", "apps/v1"}, {"kind", "Deployment"}, {"metadata", {{"name", "web"}, {"namespace", "ns"}}}};

std::string status(int code, const std::string& reason) {
  return Json{{"kind", "Status"}, {"code", code}, {"reason", reason}, {"message", reason + " it is"}}.dump();
}

class ApiClientTest : public testing::Test {
 protected:
  std::unique_ptr<ApiClient> connect(const FakeHttpServer& server, ClientConfig config = {},
                                     const std::string& prefix = "") {
    config.server = server.url() + prefix;
    ClientOptions options;
    options.user_agent = "test/1";
    options.observer = [this](std::string_view verb, int code) {
      observed_ += std::string(verb) + " " + std::to_string(code) + ";";
    };
    auto client = ApiClient::make(config, clock_, options);
    EXPECT_TRUE(client) << client.error().message;
    return std::move(*client);
  }

  SystemClock clock_;
  std::string observed_;
};

TEST_F(ApiClientTest, GetsAnObjectBelowTheServersPrefix) {
  FakeHttpServer server(in_turn({{200, kWeb.dump()}}));
  auto client = connect(server, {.token = Secret("t0ken")}, "/k8s/c-1/");
  const auto object = client->get(kDeployment, {"ns", "web"}, {});
  ASSERT_TRUE(object) << object.error().to_string();
  EXPECT_EQ(*object, kWeb);
  FakeRequest request = server.requests().at(0);
  EXPECT_EQ(request.target, "/k8s/c-1/apis/apps/v1/namespaces/ns/deployments/web");
  EXPECT_EQ(request.headers["authorization"], "Bearer t0ken");
  EXPECT_EQ(request.headers["user-agent"], "test/1");
  EXPECT_EQ(request.headers["accept"], "application/json");
  EXPECT_EQ(observed_, "get 200;");
}

TEST_F(ApiClientTest, ListsPagesWhoseItemsKnowTheirKind) {
  FakeHttpServer server(in_turn(
      {{200,
        R"({"kind":"PodList","metadata":{"resourceVersion":"9","continue":"next"},"items":[{"metadata":{"name":"a"}}]})"},
       {200,
        R"({"metadata":{"resourceVersion":"9"},"items":[{"apiVersion":"v2","kind":"Own","metadata":{"name":"b"}}]})"},
       {200, R"({"metadata":{},"items":null})"},
       {200, R"({"items":{}})"}}));
  auto client = connect(server);
  const auto first = client->list(kPod, {.limit = 1}, {});
  ASSERT_TRUE(first) << first.error().to_string();
  EXPECT_EQ(first->continue_token, "next");
  EXPECT_EQ(first->resource_version, "9");
  ASSERT_EQ(first->items.size(), 1U);
  EXPECT_EQ(first->items[0], Json::parse(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}})"));
  const auto second = client->list(kPod, {.limit = 1, .continue_token = "next"}, {});
  EXPECT_EQ(second->items[0]["kind"], "Own");
  EXPECT_EQ(second->continue_token, "");
  EXPECT_TRUE(client->list(kPod, {}, {})->items.empty());
  EXPECT_EQ(client->list(kPod, {}, {}).error().kind, ApiError::Kind::kMalformed);
}

TEST_F(ApiClientTest, WritesAndRemoves) {
  FakeHttpServer server(
      in_turn({{201, kWeb.dump()}, {200, kWeb.dump()}, {200, kWeb.dump()}, {200, "{}"}, {200, R"({"major":"1"})"}}));
  auto client = connect(server);
  EXPECT_TRUE(client->create(kDeployment, kWeb, {}, {}));
  EXPECT_TRUE(client->apply(kDeployment, kWeb, {}, {}));
  EXPECT_TRUE(client->write_status(kDeployment, {"ns", "web"}, "u1", {{"replicas", 1}}, {}));
  EXPECT_TRUE(client->remove(kDeployment, {"ns", "web"}, {}, {}));
  EXPECT_EQ(client->get_raw("/version", {}), Json::parse(R"({"major":"1"})"));
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 5U);
  EXPECT_EQ(
      requests[2].target,
      "/apis/apps/v1/namespaces/ns/deployments/web/status?fieldManager=inference-operator&fieldValidation=Strict");
  EXPECT_EQ(requests[3].method, "DELETE");
  EXPECT_EQ(observed_, "create 201;patch 200;patch 200;delete 200;get 200;");
}

TEST_F(ApiClientTest, ReturnsWhatTheServerRefuses) {
  FakeHttpServer server(in_turn({{404, status(404, "NotFound")},
                                 {409, status(409, "Conflict")},
                                 {422, status(422, "Invalid")},
                                 {302, "", "Location: /x\r\n"},
                                 {200, "no json"},
                                 {200, "[]"}}));
  auto client = connect(server);
  EXPECT_TRUE(client->get(kDeployment, {"ns", "web"}, {}).error().is_not_found());
  EXPECT_TRUE(client->apply(kDeployment, kWeb, {}, {}).error().is_conflict());
  EXPECT_TRUE(client->apply(kDeployment, kWeb, {}, {}).error().is_invalid());
  EXPECT_EQ(client->get(kDeployment, {"ns", "web"}, {}).error().code, 302);
  EXPECT_EQ(client->get(kDeployment, {"ns", "web"}, {}).error().kind, ApiError::Kind::kMalformed);
  EXPECT_EQ(client->get(kDeployment, {"ns", "web"}, {}).error().kind, ApiError::Kind::kMalformed);
  EXPECT_EQ(client->get(kDeployment, {"ns", ".."}, {}).error().kind, ApiError::Kind::kBadRequest);
  EXPECT_EQ(server.requests().size(), 6U);
}

TEST_F(ApiClientTest, SaysThatTheServerIsNotThere) {
  std::optional<FakeHttpServer> server(std::in_place, in_turn({}));
  auto client = connect(*server);
  server.reset();
  EXPECT_EQ(client->get_raw("/version", {}).error().kind, ApiError::Kind::kConnect);
  EXPECT_EQ(observed_, "get 0;");
}

class RetryTest : public ApiClientTest {
 protected:
  /// A client whose waits are by a clock that the test moves.
  std::unique_ptr<ApiClient> connect_with_fake_clock(const FakeHttpServer& server) {
    auto client = ApiClient::make({.server = server.url()}, fake_clock_);
    EXPECT_TRUE(client) << client.error().message;
    return std::move(*client);
  }
  FakeClock fake_clock_;
};

TEST_F(RetryTest, WaitsAsTheServerAsksAndSendsAgain) {
  FakeHttpServer server(in_turn({{429, status(429, "TooManyRequests"), "Retry-After: 3\r\n"},
                                 {503, "", "Retry-After: 2\r\n"},
                                 {200, kWeb.dump()}}));
  auto client = connect_with_fake_clock(server);
  std::expected<Json, ApiError> result = Json();
  std::jthread caller([&] { result = client->apply(kDeployment, kWeb, {}, {}); });
  for (const auto& [count, wait] : {std::pair<std::size_t, Duration>{1, 3s}, {2, 2s}}) {
    ASSERT_TRUE(server.wait_for_requests(count));
    // The caller may still be reading the answer, asleep on the same clock: advance until it has sent again.
    for (Duration moved{0}; moved < wait; moved += 1s) {
      ASSERT_TRUE(fake_clock_.wait_for_sleepers(1));
      fake_clock_.advance(1s);
    }
    // It may send, be answered and end at any moment from here on, so nobody need be asleep.
    SystemClock real_clock;
    while (server.requests().size() == count) {
      fake_clock_.advance(10ms);
      (void)sleep(real_clock, 1ms, {});
    }
  }
  caller.join();
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(server.requests().size(), 3U);
}

TEST_F(RetryTest, ReturnsAtOnceWhatIsAskedToWaitTooLongOrWithoutATime) {
  FakeHttpServer server(in_turn({{429, "", "Retry-After: 3600\r\n"}, {429, ""}, {500, "", "Retry-After: 1\r\n"}}));
  auto client = connect_with_fake_clock(server);
  const auto late = client->apply(kDeployment, kWeb, {}, {});
  ASSERT_FALSE(late);
  EXPECT_TRUE(late.error().is_too_many_requests());
  EXPECT_EQ(late.error().retry_after, 3600s);
  EXPECT_EQ(client->apply(kDeployment, kWeb, {}, {}).error().code, 429);
  EXPECT_EQ(client->apply(kDeployment, kWeb, {}, {}).error().code, 500) << "only 429 and 503 say that nothing was done";
  EXPECT_EQ(server.requests().size(), 3U);
}

TEST_F(RetryTest, LeavesACreateToTheCaller) {
  FakeHttpServer server(in_turn({{429, "", "Retry-After: 1\r\n"}}));
  auto client = connect_with_fake_clock(server);
  EXPECT_EQ(client->create(kDeployment, kWeb, {}, {}).error().retry_after, 1s);
  EXPECT_EQ(server.requests().size(), 1U);
}

TEST_F(RetryTest, StopsWhileItWaits) {
  FakeHttpServer server(
      [](FakeConnection& connection, const FakeRequest&) { connection.respond(429, "", "Retry-After: 5\r\n"); });
  auto client = connect_with_fake_clock(server);
  std::stop_source stop;
  std::expected<Json, ApiError> result = Json();
  std::jthread caller([&] { result = client->apply(kDeployment, kWeb, {}, stop.get_token()); });
  ASSERT_TRUE(server.wait_for_requests(1));
  stop.request_stop();
  caller.join();
  ASSERT_FALSE(result);
  EXPECT_TRUE(result.error().is_cancelled());
}

TEST_F(ApiClientTest, ReadsARotatedTokenAfter401) {
  const TemporaryFolder folder;
  const std::string path = folder.write("token", "old");
  FakeHttpServer server([&](FakeConnection& connection, const FakeRequest& request) {
    // The token is replaced between the client's read and the answer.
    if (request.headers.at("authorization") == "Bearer old") folder.write("token", "new");
    connection.respond(request.headers.at("authorization") == "Bearer new" ? 200 : 401, "{}");
  });
  auto client = connect(server, {.token_file = path});
  EXPECT_TRUE(client->get_raw("/version", {}));
  EXPECT_EQ(observed_, "get 401;get 200;");
}

TEST_F(ApiClientTest, GivesUpAfterOneRefresh) {
  const TemporaryFolder folder;
  const std::string path = folder.write("token", "0");
  std::atomic<int> count{0};
  FakeHttpServer server([&](FakeConnection& connection, const FakeRequest&) {
    folder.write("token", std::to_string(++count));
    connection.respond(401, status(401, "Unauthorized"));
  });
  auto client = connect(server, {.token_file = path});
  EXPECT_TRUE(client->get_raw("/version", {}).error().is_unauthorized());
  EXPECT_EQ(count, 2);
}

TEST_F(ApiClientTest, SendsNothingWithoutCredentials) {
  FakeHttpServer server(in_turn({}));
  auto client = connect(server, {.token_file = "/nonexistent/token"});
  EXPECT_EQ(client->get_raw("/version", {}).error().kind, ApiError::Kind::kCredentials);
  EXPECT_TRUE(server.requests().empty());
}

TEST_F(ApiClientTest, RefusesATokenThatWouldInjectAHeader) {
  FakeHttpServer server(in_turn({}));
  auto client = connect(server, {.token = Secret("t0ken\r\nEvil: 1")});
  const auto result = client->get_raw("/version", {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ApiError::Kind::kBadRequest);
  EXPECT_EQ(result.error().message.find("t0ken"), std::string::npos);
  EXPECT_TRUE(server.requests().empty());
}

TEST_F(ApiClientTest, SendsNoWriteOnceItMayNotWriteButStillReads) {
  // The answer asks to come again: between the two attempts the permission ends.
  FakeHttpServer server(in_turn({{429, status(429, "TooManyRequests"), "Retry-After: 1\r\n"}, {200, kWeb.dump()}}));
  std::atomic<int> asked = 0;
  ClientOptions options;
  options.may_write = [&asked] { return ++asked <= 2; };  // as the call begins, and as its body is sent
  auto client = ApiClient::make({.server = server.url()}, clock_, options);
  ASSERT_TRUE(client) << client.error().message;
  const auto applied = (*client)->apply(kDeployment, kWeb, {}, {});
  ASSERT_FALSE(applied);
  EXPECT_TRUE(applied.error().is_cancelled()) << applied.error().to_string();
  EXPECT_EQ(server.requests().size(), 1U);
  EXPECT_TRUE((*client)->create(kDeployment, kWeb, {}, {}).error().is_cancelled());
  EXPECT_TRUE((*client)->remove(kDeployment, {"ns", "web"}, {}, {}).error().is_cancelled());
  EXPECT_TRUE((*client)->write_status(kDeployment, {"ns", "web"}, "u1", {}, {}).error().is_cancelled());
  EXPECT_EQ(server.requests().size(), 1U);
  EXPECT_TRUE((*client)->get(kDeployment, {"ns", "web"}, {}));
  EXPECT_EQ(asked, 6);
}

TEST_F(ApiClientTest, TellsTheServerWhenToGiveAWriteUp) {
  FakeHttpServer server(in_turn({{200, kWeb.dump()}, {200, kWeb.dump()}, {200, kWeb.dump()}}));
  auto client = ApiClient::make({.server = server.url()}, clock_, {.write_timeout = 5s});
  ASSERT_TRUE(client) << client.error().message;
  EXPECT_TRUE((*client)->apply(kDeployment, kWeb, {}, {}));
  EXPECT_TRUE((*client)->remove(kDeployment, {"ns", "web"}, {}, {}));
  EXPECT_TRUE((*client)->get(kDeployment, {"ns", "web"}, {}));
  EXPECT_TRUE(server.requests().at(0).target.ends_with("&timeout=5000ms")) << server.requests().at(0).target;
  EXPECT_TRUE(server.requests().at(1).target.ends_with("/web?timeout=5000ms")) << server.requests().at(1).target;
  EXPECT_EQ(server.requests().at(2).target.find("timeout"), std::string::npos);
}

TEST_F(ApiClientTest, RefusesConfigurationThatCannotWork) {
  EXPECT_FALSE(ApiClient::make({.server = "localhost"}, clock_));
  const auto without_authority = ApiClient::make({.server = "https://localhost"}, clock_);
  ASSERT_FALSE(without_authority);
  EXPECT_NE(without_authority.error().message.find("certificate authority"), std::string::npos);
  EXPECT_FALSE(ApiClient::make({.server = "https://[::1]:6443", .insecure_skip_tls_verify = true}, clock_));
}

// ---- watches

class WatchTest : public ApiClientTest {
 protected:
  /// Watches pods of a server that answers with `act`; `log_` tells the events.
  std::expected<WatchEnd, ApiError> watch(const FakeHttpServer::Handler& act) {
    FakeHttpServer server(act);
    auto client = ApiClient::make({.server = server.url()}, fake_clock_);
    EXPECT_TRUE(client) << client.error().message;
    return (*client)->watch(kPod, {.resource_version = "1"}, [this](const WatchEvent& event) { record(event); }, {});
  }
  void record(const WatchEvent& event) {
    if (const auto* added = std::get_if<Added>(&event))
      log_ += "added " + added->object["metadata"]["name"].get<std::string>() + ";";
    if (const auto* bookmark = std::get_if<Bookmark>(&event)) log_ += "bookmark " + bookmark->resource_version + ";";
    if (const auto* error = std::get_if<WatchError>(&event)) log_ += "error " + std::to_string(error->error.code) + ";";
    ++delivered_;
    delivered_.notify_all();
  }
  static std::string event(const std::string& type, const Json& object) {
    return Json{{"type", type}, {"object", object}}.dump() + "\n";
  }
  static std::string added(const std::string& name) { return event("ADDED", {{"metadata", {{"name", name}}}}); }

  FakeClock fake_clock_;
  std::string log_;
  std::atomic<int> delivered_{0};
};

TEST_F(WatchTest, DeliversEventsSplitOverChunks) {
  const auto end = watch([](FakeConnection& connection, const FakeRequest&) {
    connection.begin_chunked(200);
    const std::string bytes = added("a") + added("b") + event("BOOKMARK", {{"metadata", {{"resourceVersion", "5"}}}});
    for (std::size_t at = 0; at < bytes.size(); at += 7) connection.chunk(std::string_view(bytes).substr(at, 7));
    connection.end_chunked();
  });
  ASSERT_TRUE(end) << end.error().to_string();
  EXPECT_EQ(end->kind, WatchEnd::Kind::kComplete);
  EXPECT_EQ(log_, "added a;added b;bookmark 5;");
}

TEST_F(WatchTest, TellsItsEndsApart) {
  struct Case {
    const char* name;
    std::function<void(FakeConnection&)> act;
    WatchEnd::Kind kind;
  };
  const Case cases[] = {
      {"cut", [](FakeConnection& c) { c.cut(); }, WatchEnd::Kind::kCut},
      {"cut in an event", [](FakeConnection& c) { c.chunk(R"({"type":)"), c.cut(); }, WatchEnd::Kind::kCut},
      {"complete in an event", [](FakeConnection& c) { c.chunk(R"({"type":)"), c.end_chunked(); },
       WatchEnd::Kind::kMalformed},
      {"garbage", [](FakeConnection& c) { c.chunk("garbage\n"), c.wait_until_closed(); }, WatchEnd::Kind::kMalformed},
      {"silence",
       [this](FakeConnection& c) {
         while (!c.wait_until_closed(5ms)) fake_clock_.advance(100s);
       },
       WatchEnd::Kind::kIdleTimeout},
      {"error",
       [](FakeConnection& c) {
         c.chunk(event("ERROR", {{"code", 410}}) + added("late")), c.wait_until_closed();
       },
       WatchEnd::Kind::kError},
  };
  for (const Case& one : cases) {
    log_.clear();
    delivered_ = 0;
    const auto end = watch([&](FakeConnection& connection, const FakeRequest&) {
      connection.begin_chunked(200);
      connection.chunk(added("a"));
      delivered_.wait(0);
      one.act(connection);
    });
    ASSERT_TRUE(end) << one.name << ": " << end.error().to_string();
    EXPECT_EQ(static_cast<int>(end->kind), static_cast<int>(one.kind)) << one.name << ": " << end->detail;
    EXPECT_EQ(log_, one.kind == WatchEnd::Kind::kError ? "added a;error 410;" : "added a;") << one.name;
  }
}

TEST_F(WatchTest, ReturnsAnErrorWhenItNeverBegins) {
  const auto missing =
      watch([](FakeConnection& connection, const FakeRequest&) { connection.respond(404, status(404, "NotFound")); });
  ASSERT_FALSE(missing);
  EXPECT_TRUE(missing.error().is_not_found());
  const auto cut = watch([](FakeConnection& connection, const FakeRequest&) { connection.cut(); });
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().kind, ApiError::Kind::kCut);
}

TEST_F(WatchTest, StopsAtOnce) {
  FakeHttpServer server([](FakeConnection& connection, const FakeRequest&) {
    connection.begin_chunked(200);
    connection.chunk(added("a"));
    connection.wait_until_closed();
  });
  auto client = connect(server);
  std::stop_source stop;
  const auto end = client->watch(
      kPod, {}, [&](const WatchEvent&) { stop.request_stop(); }, stop.get_token());
  ASSERT_TRUE(end) << end.error().to_string();
  EXPECT_EQ(end->kind, WatchEnd::Kind::kCancelled);
  EXPECT_EQ(observed_, "watch 200;");
}

}  // namespace
}  // namespace inference::client
