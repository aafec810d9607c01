// Every transport: requests, answers, proxies. At the end, the transports that are held to the suite.
#include <thread>

#include "operator/client/request_check.h"
#include "operator/client/transport_cpprest.h"
#include "operator/client/transport_curl.h"
#include "operator/client/transport_suite.h"

namespace inference::client {
namespace {

TEST_P(TransportTest, SendsARequestAsItIs) {
  FakeHttpServer server(answer_ok, loopback());
  auto transport = connect(server);
  HttpRequest request = patch();
  request.target = "/apis/a%2Fb/v1?labelSelector=a%3Db%2Cc&x=%25";
  request.headers.emplace_back("X-Test", "one two");
  request.bearer = Secret("t0ken");
  request.body = R"({"some":"body"})";
  RecordingSink sink;
  send(*transport, request, sink);
  EXPECT_EQ(sink.end.kind, EndKind::kComplete) << sink.end.detail;
  ASSERT_EQ(server.requests().size(), 1U);
  FakeRequest received = server.requests()[0];
  EXPECT_EQ(received.method, "PATCH");
  EXPECT_EQ(received.target, request.target);
  EXPECT_EQ(received.headers["x-test"], "one two");
  EXPECT_EQ(received.headers["authorization"], "Bearer t0ken");
  EXPECT_EQ(received.headers["content-type"], "application/apply-patch+yaml");
  EXPECT_EQ(received.body, request.body);
}

TEST_P(TransportTest, SendsNoBodyOnceItMayNot) {
  FakeHttpServer server(answer_ok, loopback());
  auto transport = connect(server);
  std::atomic<bool> may_send = true;
  for (HttpRequest request : {patch(), post()}) {
    request.may_send = [&may_send] { return may_send.load(); };
    may_send = true;
    RecordingSink sent;
    send(*transport, request, sent);
    EXPECT_EQ(sent.end.kind, HttpEnd::Kind::kComplete) << sent.end.detail;
    may_send = false;
    RecordingSink kept;
    send(*transport, request, kept);
    EXPECT_EQ(kept.end.kind, HttpEnd::Kind::kCancelled) << kept.end.detail;
    EXPECT_EQ(kept.status, 0);
  }
  EXPECT_EQ(server.requests().size(), 2U);  // whole ones
}

TEST_P(TransportTest, DeliversAnswersOfBothFramings) {
  FakeHttpServer server(
      [](FakeConnection& connection, const FakeRequest& request) {
        if (request.target == "/empty") return connection.respond(404, "", "X-Kind: none\r\n");
        if (request.target == "/length") return connection.respond(200, "with length");
        connection.begin_chunked(200);
        for (const char* piece : {"in ", "three ", "chunks"}) connection.chunk(piece);
        connection.end_chunked();
      },
      loopback());
  auto transport = connect(server);
  RecordingSink empty;
  send(*transport, get("/empty"), empty);
  EXPECT_EQ(empty.status, 404);
  EXPECT_EQ(find_header(empty.headers, "x-kind"), "none");
  EXPECT_EQ(empty.end.kind, EndKind::kComplete);
  RecordingSink length;
  send(*transport, get("/length"), length);
  EXPECT_EQ(length.body, "with length");
  EXPECT_EQ(length.end.kind, EndKind::kComplete);
  RecordingSink chunked;
  send(*transport, get("/chunked"), chunked);
  EXPECT_EQ(chunked.body, "in three chunks");
  EXPECT_EQ(chunked.end.kind, EndKind::kComplete);
  EXPECT_EQ(server.connections(), 1) << "calls share a connection";
}

TEST_P(TransportTest, ServesManyThreadsAtOnce) {
  FakeHttpServer server(
      [](FakeConnection& connection, const FakeRequest& request) { connection.respond(200, request.target); },
      loopback());
  auto transport = connect(server);
  std::vector<std::jthread> threads;
  std::atomic<int> right{0};
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      for (int call = 0; call < 10; ++call) {
        const std::string target = "/" + std::to_string(thread) + "/" + std::to_string(call);
        RecordingSink sink;
        send(*transport, get(target), sink);
        if (sink.body == target && sink.end.kind == EndKind::kComplete) ++right;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(right, 80);
}

TEST_P(TransportTest, ASlowReceiverGetsAllBytesInOrder) {
  std::string whole;
  for (int line = 0; whole.size() < std::size_t{6} * 1024 * 1024; ++line) whole += std::to_string(line) + "\n";
  FakeHttpServer server(
      [&](FakeConnection& connection, const FakeRequest&) {
        connection.begin_chunked(200);
        for (std::size_t at = 0; at < whole.size(); at += 50'000)
          connection.chunk(std::string_view(whole).substr(at, 50'000));
        connection.end_chunked();
      },
      loopback());
  struct SlowSink : RecordingSink {
    Next on_bytes(std::string_view bytes) override {
      std::this_thread::yield();
      return RecordingSink::on_bytes(bytes);
    }
  } sink;
  auto transport = connect(server);
  send(*transport, stream(), sink);
  EXPECT_EQ(sink.end.kind, EndKind::kComplete);
  EXPECT_TRUE(sink.body == whole) << sink.body.size() << " of " << whole.size();
}

TEST_P(TransportTest, TunnelsThroughAProxyThatNeverSeesTheToken) {
  FakeHttpServer server(answer_ok, loopback());
  FakeHttpServer proxy([&](FakeConnection& connection, const FakeRequest&) { connection.tunnel(server.port()); });
  auto transport =
      connect({.server = server.url(), .proxy_url = proxy.url(), .tls_material = [trusted = trust(authority_.pem())] {
                 return trusted;
               }});
  HttpRequest request = get("/version");
  request.bearer = Secret("t0ken");
  RecordingSink sink;
  send(*transport, request, sink);
  EXPECT_EQ(sink.status, 200) << sink.end.detail;
  ASSERT_EQ(proxy.requests().size(), 1U);
  EXPECT_EQ(proxy.requests()[0].method, "CONNECT");
  EXPECT_EQ(proxy.requests()[0].target, "127.0.0.1:" + std::to_string(server.port()));
  EXPECT_FALSE(proxy.requests()[0].headers.contains("authorization"));
  ASSERT_EQ(server.requests().size(), 1U);
  EXPECT_EQ(server.requests()[0].target, "/version");
}

TEST_P(TransportTest, SaysWhenTheProxyRefuses) {
  FakeHttpServer server(answer_ok, loopback());
  FakeHttpServer proxy([](FakeConnection& connection, const FakeRequest&) { connection.respond(403, "no"); });
  RecordingSink sink;
  send(*connect({.server = server.url(),
                 .proxy_url = proxy.url(),
                 .tls_material = [trusted = trust(authority_.pem())] { return trusted; }}),
       get(), sink);
  EXPECT_EQ(sink.end.kind, EndKind::kConnect) << sink.end.detail;
  EXPECT_EQ(server.connections(), 0);
}

TEST_P(TransportTest, RefusesOptionsThatCannotWork) {
  const auto material = [] { return std::make_shared<const TlsMaterial>(); };
  for (const TransportOptions& options :
       {TransportOptions{.server = "127.0.0.1:6443", .tls_material = material},
        TransportOptions{.server = "https://", .tls_material = material},
        TransportOptions{.server = "ftp://127.0.0.1", .tls_material = material},
        TransportOptions{.server = "https://127.0.0.1"},
        TransportOptions{
            .server = "https://127.0.0.1", .proxy_url = "https://127.0.0.1:3128", .tls_material = material},
        TransportOptions{.server = "https://127.0.0.1", .proxy_url = "socks5://127.0.0.1", .tls_material = material}}) {
    EXPECT_FALSE(GetParam().make(options, clock_)) << options.server;
  }
}

constexpr TransportKind kTransports[] = {{"Cpprest", make_cpprest_transport}, {"Curl", make_curl_transport}};
INSTANTIATE_TEST_SUITE_P(All, TransportTest, testing::ValuesIn(kTransports),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace inference::client
