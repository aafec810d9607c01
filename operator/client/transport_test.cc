// What every transport must do, whatever library is behind it: run for each entry of kTransports.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "base/fake_clock.h"
#include "operator/client/http_transport.h"
#include "operator/client/request_check.h"
#include "operator/client/testing/fake_http_server.h"
#include "operator/client/testing/test_certificates.h"
#include "operator/client/transport_cpprest.h"

namespace inference::client {
namespace {

using namespace std::chrono_literals;
using EndKind = HttpEnd::Kind;

struct TransportKind {
  const char* name;
  std::expected<std::unique_ptr<HttpTransport>, std::string> (*make)(TransportOptions, Clock&);
};

/// Records an answer. Tests on other threads may wait for its first bytes.
class RecordingSink : public ResponseSink {
 public:
  void on_headers(int code, const Headers& received) override {
    EXPECT_EQ(status, 0) << "headers came twice";
    status = code;
    headers = received;
  }
  Next on_bytes(std::string_view bytes) override {
    EXPECT_NE(status, 0) << "bytes came before headers";
    body += bytes;
    begun = true;
    begun.notify_all();
    return Next::kMore;
  }
  void on_end(const HttpEnd& received) override {
    EXPECT_FALSE(ended) << "the end came twice";
    ended = true;
    end = received;
    begun = true;  // nothing more to wait for
    begun.notify_all();
  }

  int status = 0;
  Headers headers;
  std::string body;
  HttpEnd end;
  bool ended = false;
  std::atomic<bool> begun{false};
};

class TransportTest : public testing::TestWithParam<TransportKind> {
 protected:
  static std::shared_ptr<const TlsMaterial> trust(const std::string& ca_pem) {
    return std::make_shared<const TlsMaterial>(TlsMaterial{.ca_pem = ca_pem});
  }

  std::unique_ptr<HttpTransport> connect(TransportOptions options) { return connect(std::move(options), clock_); }
  std::unique_ptr<HttpTransport> connect(TransportOptions options, Clock& clock) {
    auto transport = GetParam().make(std::move(options), clock);
    EXPECT_TRUE(transport) << transport.error();
    return std::move(*transport);
  }
  std::unique_ptr<HttpTransport> connect(const std::string& url, const std::string& ca_pem) {
    return connect({.server = url, .tls_material = [material = trust(ca_pem)] { return material; }});
  }
  std::unique_ptr<HttpTransport> connect(const FakeHttpServer& server) {
    return connect(server.url(), authority_.pem());
  }
  /// A transport whose patience ends when the test says so, however slow the machine is.
  std::unique_ptr<HttpTransport> connect_with_fake_clock(const FakeHttpServer& server) {
    return connect({.server = server.url(), .tls_material = [trusted = trust(authority_.pem())] { return trusted; }},
                   fake_clock_);
  }
  std::string localhost(const FakeHttpServer& server) { return "https://localhost:" + std::to_string(server.port()); }

  FakeHttpServer::Tls loopback() { return {authority_.issue_for_loopback()}; }

  SystemClock clock_;
  FakeClock fake_clock_;
  TestAuthority authority_;
};

HttpRequest get(std::string target = "/") {
  return {.method = "GET", .target = std::move(target), .replay = HttpRequest::Replay::kIfHarmless};
}
HttpRequest patch() {
  return {.method = "PATCH",
          .target = "/object",
          .headers = {{"Content-Type", "application/apply-patch+yaml"}},
          .body = "{}",
          .replay = HttpRequest::Replay::kIfHarmless};
}
HttpRequest post() {
  return {.method = "POST", .target = "/objects", .headers = {{"Content-Type", "application/json"}}, .body = "{}"};
}
HttpRequest stream() {
  HttpRequest request = get("/watch");
  request.use = HttpRequest::Use::kStream;
  return request;
}

void send(HttpTransport& transport, const HttpRequest& request, RecordingSink& sink, const std::stop_token& stop = {}) {
  transport.send(request, sink, stop);
  EXPECT_TRUE(sink.ended);
}

void answer_ok(FakeConnection& connection, const FakeRequest&) {
  connection.respond(200, "{}");
}

// ---- requests and answers

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

// ---- who is trusted

TEST_P(TransportTest, TrustsTheGivenAuthorityForAnAddress) {
  FakeHttpServer server(answer_ok, FakeHttpServer::Tls{authority_.issue({.ip_addresses = {"127.0.0.1"}})});
  RecordingSink sink;
  send(*connect(server), get(), sink);
  EXPECT_EQ(sink.status, 200) << sink.end.detail;
}

TEST_P(TransportTest, RefusesACertificateOfAnotherAuthority) {
  FakeHttpServer server(answer_ok, loopback());
  RecordingSink sink;
  send(*connect(server.url(), TestAuthority("another CA").pem()), get(), sink);
  EXPECT_EQ(sink.end.kind, EndKind::kTls);
  EXPECT_NE(sink.end.detail.find("certificate"), std::string::npos) << sink.end.detail;
  EXPECT_TRUE(server.requests().empty());
}

TEST_P(TransportTest, RefusesTheRightAuthorityWithTheWrongName) {
  FakeHttpServer server(
      answer_ok,
      FakeHttpServer::Tls{authority_.issue({.dns_names = {"other.example"}, .ip_addresses = {"127.0.0.9"}})});
  RecordingSink by_address;
  send(*connect(server), get(), by_address);
  EXPECT_EQ(by_address.end.kind, EndKind::kTls);
  EXPECT_NE(by_address.end.detail.find("mismatch"), std::string::npos) << by_address.end.detail;
  RecordingSink by_name;
  send(*connect(localhost(server), authority_.pem()), get(), by_name);
  EXPECT_EQ(by_name.end.kind, EndKind::kTls);
  EXPECT_NE(by_name.end.detail.find("mismatch"), std::string::npos) << by_name.end.detail;
  EXPECT_TRUE(server.requests().empty());
}

TEST_P(TransportTest, RefusesAMatchingCommonNameWithoutAMatchingAlternativeName) {
  for (const auto& subject : {TestSubject{.common_name = "localhost", .dns_names = {"other.example"}},
                              TestSubject{.common_name = "localhost"}}) {
    FakeHttpServer server(answer_ok, FakeHttpServer::Tls{authority_.issue(subject)});
    RecordingSink sink;
    send(*connect(localhost(server), authority_.pem()), get(), sink);
    EXPECT_EQ(sink.end.kind, EndKind::kTls) << sink.end.detail;
    EXPECT_TRUE(server.requests().empty());
  }
}

TEST_P(TransportTest, DoesNotTrustTheSystemsStore) {
  FakeHttpServer server(answer_ok, loopback());
  auto transport = connect(server.url(), TestAuthority("another CA").pem());
  const auto file = std::filesystem::temp_directory_path() / ("system-store-" + std::to_string(::getpid()) + ".pem");
  std::ofstream(file) << authority_.pem();
  ::setenv("SSL_CERT_FILE", file.c_str(), 1);
  RecordingSink sink;
  send(*transport, get(), sink);
  ::setenv("SSL_CERT_FILE", "/dev/null", 1);
  std::filesystem::remove(file);
  EXPECT_EQ(sink.end.kind, EndKind::kTls) << sink.end.detail;
  EXPECT_TRUE(server.requests().empty());
}

TEST_P(TransportTest, VerifiesTheGivenServerNameInsteadOfTheAddress) {
  FakeHttpServer server(answer_ok, FakeHttpServer::Tls{authority_.issue({.dns_names = {"kubernetes.default.svc"}})});
  const auto material = [trusted = trust(authority_.pem())] { return trusted; };
  RecordingSink right;
  send(*connect({.server = server.url(), .tls_server_name = "kubernetes.default.svc", .tls_material = material}), get(),
       right);
  EXPECT_EQ(right.status, 200) << right.end.detail;
  RecordingSink wrong;
  send(*connect({.server = server.url(), .tls_server_name = "other.default.svc", .tls_material = material}), get(),
       wrong);
  EXPECT_EQ(wrong.end.kind, EndKind::kTls);
}

TEST_P(TransportTest, VerifiesNothingWhenToldSo) {
  FakeHttpServer server(answer_ok, loopback());
  RecordingSink sink;
  send(*connect({.server = server.url(),
                 .verify = TransportOptions::Verify::kNothing,
                 .tls_material = [] { return std::make_shared<const TlsMaterial>(); }}),
       get(), sink);
  EXPECT_EQ(sink.status, 200) << sink.end.detail;
}

TEST_P(TransportTest, SaysWhichMaterialIsUnusable) {
  FakeHttpServer server(answer_ok, loopback());
  const TestCertificate one = authority_.issue({});
  const TestCertificate two = authority_.issue({});
  const std::vector<std::pair<TlsMaterial, std::string>> cases = {
      {{}, "certificate authority"},
      {{.ca_pem = "garbage"}, "certificate authority"},
      {{.ca_pem = authority_.pem(), .certificate_pem = "garbage", .key_pem = Secret(one.key_pem)},
       "client certificate"},
      {{.ca_pem = authority_.pem(), .certificate_pem = one.certificate_pem}, "client key"},
      {{.ca_pem = authority_.pem(), .certificate_pem = one.certificate_pem, .key_pem = Secret(two.key_pem)}, "belong"}};
  for (const auto& [material, text] : cases) {
    RecordingSink sink;
    auto shared = std::make_shared<const TlsMaterial>(material);
    send(*connect({.server = server.url(), .tls_material = [shared] { return shared; }}), get(), sink);
    EXPECT_EQ(sink.end.kind, EndKind::kRefused);
    EXPECT_NE(sink.end.detail.find(text), std::string::npos) << sink.end.detail;
  }
  EXPECT_EQ(server.connections(), 0);
}

TEST_P(TransportTest, RotatesAuthorityAndClientCertificateWithoutRestart) {
  const TestAuthority clients("clients CA");
  FakeHttpServer server(answer_ok, FakeHttpServer::Tls{authority_.issue_for_loopback(), clients.pem()});
  const auto make_material = [&](const TestAuthority& authority, const char* name) {
    const TestCertificate client = clients.issue({.common_name = name});
    return std::make_shared<const TlsMaterial>(TlsMaterial{
        .ca_pem = authority.pem(), .certificate_pem = client.certificate_pem, .key_pem = Secret(client.key_pem)});
  };
  std::shared_ptr<const TlsMaterial> material = make_material(authority_, "first");
  auto transport = connect({.server = server.url(), .tls_material = [&] { return material; }});
  RecordingSink before;
  send(*transport, get(), before);
  EXPECT_EQ(before.status, 200) << before.end.detail;

  // The client's certificate changes: the pooled connection of the old one is not used any more.
  material = make_material(authority_, "second");
  RecordingSink renewed;
  send(*transport, get(), renewed);
  EXPECT_EQ(renewed.status, 200) << renewed.end.detail;

  // The server's authority changes.
  const TestAuthority next("next CA");
  server.use({next.issue_for_loopback(), clients.pem()});
  server.close_idle();
  RecordingSink stale;
  send(*transport, get(), stale);
  EXPECT_EQ(stale.end.kind, EndKind::kTls) << stale.end.detail;
  material = make_material(next, "third");
  RecordingSink after;
  send(*transport, get(), after);
  EXPECT_EQ(after.status, 200) << after.end.detail;

  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 3U);
  EXPECT_EQ(requests[0].peer_certificate, "first");
  EXPECT_EQ(requests[1].peer_certificate, "second");
  EXPECT_EQ(requests[2].peer_certificate, "third");
}

TEST_P(TransportTest, SaysWhenTheServerRefusesTheClient) {
  FakeHttpServer server(answer_ok,
                        FakeHttpServer::Tls{authority_.issue_for_loopback(), TestAuthority("clients CA").pem()});
  RecordingSink sink;
  send(*connect(server), get(), sink);
  EXPECT_NE(sink.end.kind, EndKind::kComplete);
  EXPECT_EQ(sink.status, 0);
  EXPECT_TRUE(server.requests().empty());
}

// ---- what is not sent

TEST_P(TransportTest, DoesNotFollowRedirectsNorSendTheTokenOn) {
  FakeHttpServer other(answer_ok, loopback());
  FakeHttpServer server(
      [&](FakeConnection& connection, const FakeRequest&) {
        connection.respond(302, "", "Location: " + other.url() + "/stolen\r\n");
      },
      loopback());
  auto transport = connect(server);
  for (HttpRequest request : {get(), patch()}) {
    request.bearer = Secret("t0ken");
    RecordingSink sink;
    send(*transport, request, sink);
    EXPECT_EQ(sink.status, 302);
  }
  EXPECT_EQ(other.connections(), 0);
  EXPECT_EQ(server.requests().size(), 2U);
}

TEST_P(TransportTest, RefusesWhatWouldInjectAHeader) {
  using namespace std::string_literals;
  FakeHttpServer server(answer_ok, loopback());
  auto transport = connect(server);
  std::vector<HttpRequest> bad(8, get());
  bad[0].headers = {{"X-Test", "a\r\nEvil: 1"}};
  bad[1].headers = {{"X-Test", "a\0b"s}};
  bad[2].headers = {{"X-Test: a\r\nEvil", "1"}};
  bad[3].headers = {{"host", "other.example"}};
  bad[4].bearer = Secret("t0ken\r\nEvil: 1");
  bad[5].bearer = Secret("t0ken\n");
  bad[6].target = "/ HTTP/1.1\r\nEvil: 1\r\n\r\n";
  bad[7].method = "GET / HTTP/1.1\r\nEvil: 1\r\n";
  for (const HttpRequest& request : bad) {
    RecordingSink sink;
    send(*transport, request, sink);
    EXPECT_EQ(sink.end.kind, EndKind::kRefused);
    EXPECT_EQ(sink.end.detail.find("Evil"), std::string::npos) << "values are not repeated";
    EXPECT_EQ(sink.end.detail.find("t0ken"), std::string::npos) << "values are not repeated";
  }
  EXPECT_EQ(server.connections(), 0);
}

TEST_P(TransportTest, SendsAgainOnceWhenThePooledConnectionWasClosed) {
  FakeHttpServer server(answer_ok, loopback());
  auto transport = connect(server);
  constexpr int kRounds = 5;
  for (int round = 0; round < kRounds; ++round) {
    RecordingSink sink;
    send(*transport, patch(), sink);
    EXPECT_EQ(sink.status, 200) << "round " << round << ": " << sink.end.detail;
    server.close_idle();
  }
  EXPECT_EQ(server.requests().size(), std::size_t{kRounds}) << "each was delivered exactly once";
  EXPECT_EQ(server.connections(), kRounds);
}

TEST_P(TransportTest, NeverSendsACreateTwice) {
  FakeHttpServer server(
      [](FakeConnection& connection, const FakeRequest& request) {
        // The request has been read whole: the object may exist by now.
        if (request.method == "POST") return connection.cut();
        connection.respond(200, "{}");
      },
      loopback());
  auto transport = connect(server);
  RecordingSink first;
  send(*transport, get(), first);
  RecordingSink create;
  send(*transport, post(), create);
  EXPECT_EQ(create.end.kind, EndKind::kCut) << create.end.detail;
  ASSERT_EQ(server.requests().size(), 2U);
  EXPECT_EQ(server.requests()[1].connection, 1) << "the create went over the pooled connection";
}

// ---- how answers end

struct Ending {
  const char* name;
  void (*act)(FakeConnection&);
  EndKind kind;
};
const Ending kEndings[] = {
    {"complete", [](FakeConnection& connection) { connection.end_chunked(); }, EndKind::kComplete},
    {"FIN", [](FakeConnection& connection) { connection.cut(); }, EndKind::kCut},
    {"close_notify and FIN", [](FakeConnection& connection) { connection.close(); }, EndKind::kCut},
    {"RST", [](FakeConnection& connection) { connection.reset(); }, EndKind::kCut},
    {"garbage", [](FakeConnection& connection) { connection.write("no chunk size\r\n"); }, EndKind::kCut},
    {"silence", [](FakeConnection& connection) { connection.wait_until_closed(); }, EndKind::kIdleTimeout},
};

TEST_P(TransportTest, TellsTheEndsOfAStreamApart) {
  for (const bool with_tls : {true, false}) {
    for (const Ending& ending : kEndings) {
      RecordingSink sink;
      FakeHttpServer server(
          [&](FakeConnection& connection, const FakeRequest&) {
            connection.begin_chunked(200);
            connection.chunk("begun\n");
            sink.begun.wait(false);  // a reset would overtake what was sent before
            ending.act(connection);
          },
          with_tls ? std::optional(loopback()) : std::nullopt);
      auto transport = connect_with_fake_clock(server);
      std::jthread sender([&] { send(*transport, stream(), sink); });
      if (ending.kind == EndKind::kIdleTimeout) {
        sink.begun.wait(false);
        EXPECT_TRUE(fake_clock_.wait_for_sleepers(1));
        fake_clock_.advance(31s);
      }
      sender.join();
      EXPECT_EQ(sink.status, 200);
      EXPECT_EQ(static_cast<int>(sink.end.kind), static_cast<int>(ending.kind))
          << ending.name << (with_tls ? " over TLS: " : ": ") << sink.end.detail;
      EXPECT_EQ(sink.body, "begun\n");
    }
  }
}

TEST_P(TransportTest, NoticesATruncatedBody) {
  FakeHttpServer server(
      [](FakeConnection& connection, const FakeRequest&) {
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nnot all");
        connection.close();
      },
      loopback());
  RecordingSink sink;
  send(*connect(server), get(), sink);
  EXPECT_EQ(sink.end.kind, EndKind::kCut) << sink.end.detail;
}

TEST_P(TransportTest, GivesUpOnASilentServer) {
  FakeHttpServer server([](FakeConnection& connection, const FakeRequest&) { connection.wait_until_closed(); },
                        loopback());
  auto transport = connect_with_fake_clock(server);
  RecordingSink sink;
  std::jthread sender([&] { send(*transport, get(), sink); });
  ASSERT_TRUE(server.wait_for_requests(1));
  ASSERT_TRUE(fake_clock_.wait_for_sleepers(1));
  fake_clock_.advance(31s);
  sender.join();
  EXPECT_EQ(sink.end.kind, EndKind::kIdleTimeout);
  EXPECT_EQ(sink.status, 0);
}

TEST_P(TransportTest, GivesUpOnAnAnswerThatTakesTooLongInAll) {
  FakeHttpServer server(
      [](FakeConnection& connection, const FakeRequest&) {
        connection.begin_chunked(200);
        while (!connection.wait_until_closed(5ms)) connection.chunk("drip");
      },
      loopback());
  auto transport = connect_with_fake_clock(server);
  HttpRequest request = get();
  request.total_timeout = 10s;
  RecordingSink sink;
  std::jthread sender([&] { send(*transport, request, sink); });
  sink.begun.wait(false);
  fake_clock_.advance(11s);
  sender.join();
  EXPECT_EQ(sink.end.kind, EndKind::kTotalTimeout);
}

TEST_P(TransportTest, AQuietStreamOutlivesTheShortTimeoutOfCalls) {
  std::atomic<bool> call_is_over{false};
  FakeHttpServer server(
      [&](FakeConnection& connection, const FakeRequest& request) {
        if (request.target != "/watch") {
          connection.wait_until_closed();
          return;
        }
        connection.begin_chunked(200);
        connection.chunk("first\n");
        call_is_over.wait(false);
        connection.chunk("second\n");
        connection.end_chunked();
      },
      loopback());
  auto transport = connect_with_fake_clock(server);
  HttpRequest quiet = stream();
  quiet.idle_timeout = 90s;
  RecordingSink watch;
  std::jthread watcher([&] { send(*transport, quiet, watch); });
  watch.begun.wait(false);
  RecordingSink sink;
  std::jthread caller([&] { send(*transport, get(), sink); });
  ASSERT_TRUE(server.wait_for_requests(2));
  ASSERT_TRUE(fake_clock_.wait_for_sleepers(2));
  fake_clock_.advance(60s);
  caller.join();
  EXPECT_EQ(sink.end.kind, EndKind::kIdleTimeout);
  call_is_over = true;
  call_is_over.notify_all();
  watcher.join();
  EXPECT_EQ(watch.body, "first\nsecond\n");
  EXPECT_EQ(watch.end.kind, EndKind::kComplete) << watch.end.detail;
}

TEST_P(TransportTest, AStreamHasTcpKeepAlive) {
  FakeHttpServer server(
      [](FakeConnection& connection, const FakeRequest&) {
        connection.begin_chunked(200);
        connection.chunk("begun\n");
        connection.wait_until_closed();
      },
      loopback());
  auto transport = connect(server);
  std::stop_source stop;
  RecordingSink sink;
  std::jthread watcher([&] { send(*transport, stream(), sink, stop.get_token()); });
  sink.begun.wait(false);
  // Fields of proc(5) tcp: "sl local_address rem_address st tx:rx tr:when …"; tr is 02 while the keep-alive timer runs.
  char local[16];
  std::snprintf(local, sizeof(local), "0100007F:%04X", static_cast<unsigned>(server.requests()[0].peer_port));
  bool has_timer = false;
  for (int attempt = 0; attempt < 1000 && !has_timer; ++attempt) {
    std::ifstream table("/proc/self/net/tcp");
    std::string slot, from, to, state, queues, timer, line;
    std::getline(table, line);
    while (table >> slot >> from >> to >> state >> queues >> timer && std::getline(table, line)) {
      if (from == local && timer.starts_with("02:")) has_timer = true;
    }
    std::this_thread::yield();
  }
  EXPECT_TRUE(has_timer);
  stop.request_stop();
}

TEST_P(TransportTest, SaysThatNoConnectionWasMade) {
  std::string url;
  {
    FakeHttpServer gone(answer_ok, loopback());
    url = gone.url();
  }
  RecordingSink sink;
  send(*connect(url, authority_.pem()), get(), sink);
  EXPECT_EQ(sink.end.kind, EndKind::kConnect) << sink.end.detail;
}

// ---- limits and stops

TEST_P(TransportTest, KeepsToTheLimitOfBytes) {
  FakeHttpServer server(
      [](FakeConnection& connection, const FakeRequest& request) {
        if (request.target == "/length") return connection.respond(200, std::string(100'000, 'x'));
        connection.begin_chunked(200);
        while (!connection.wait_until_closed(1ms)) connection.chunk(std::string(1000, 'x'));
      },
      loopback());
  auto transport = connect(server);
  for (const char* target : {"/length", "/chunked"}) {
    HttpRequest request = get(target);
    request.max_response_bytes = 50'000;
    RecordingSink sink;
    send(*transport, request, sink);
    EXPECT_EQ(sink.end.kind, EndKind::kTooLarge) << target;
    EXPECT_LE(sink.body.size(), 50'000U);
  }
}

TEST_P(TransportTest, StopsAtOnceAHundredTimes) {
  std::atomic<int> closed_by_client{0};
  FakeHttpServer server(
      [&](FakeConnection& connection, const FakeRequest& request) {
        if (request.target != "/watch") return connection.respond(200, "{}");
        connection.begin_chunked(200);
        connection.chunk("begun\n");
        if (connection.wait_until_closed()) ++closed_by_client;
        closed_by_client.notify_all();
      },
      loopback());
  auto transport = connect(server);
  constexpr int kRounds = 100;
  for (int round = 0; round < kRounds; ++round) {
    std::stop_source stop;
    RecordingSink sink;
    std::jthread watcher([&] { send(*transport, stream(), sink, stop.get_token()); });
    // Half of them as soon as they run, wherever they are in connecting.
    if (round % 2 == 0) sink.begun.wait(false);
    stop.request_stop();
    watcher.join();
    ASSERT_EQ(sink.end.kind, EndKind::kCancelled) << sink.end.detail;
  }
  for (int closed = closed_by_client; closed < kRounds / 2; closed = closed_by_client) closed_by_client.wait(closed);
  RecordingSink after;
  send(*transport, get(), after);
  EXPECT_EQ(after.status, 200) << "the transport still works: " << after.end.detail;
}

TEST_P(TransportTest, SendsNothingWhenAlreadyStopped) {
  FakeHttpServer server(answer_ok, loopback());
  auto transport = connect(server);
  std::stop_source stop;
  stop.request_stop();
  RecordingSink sink;
  send(*transport, get(), sink, stop.get_token());
  EXPECT_EQ(sink.end.kind, EndKind::kCancelled);
}

TEST_P(TransportTest, EndsWhenTheReceiverHasHadEnough) {
  std::atomic<bool> closed{false};
  FakeHttpServer server(
      [&](FakeConnection& connection, const FakeRequest&) {
        connection.begin_chunked(200);
        connection.chunk("begun\n");
        closed = connection.wait_until_closed();
        closed.notify_all();
      },
      loopback());
  auto transport = connect(server);
  struct StoppingSink : RecordingSink {
    Next on_bytes(std::string_view bytes) override {
      RecordingSink::on_bytes(bytes);
      return Next::kStop;
    }
  } stopping;
  send(*transport, stream(), stopping);
  EXPECT_EQ(stopping.end.kind, EndKind::kCancelled);
  closed.wait(false);

  closed = false;
  struct ThrowingSink : RecordingSink {
    Next on_bytes(std::string_view) override { throw std::runtime_error("receiver"); }
  } throwing;
  EXPECT_THROW(transport->send(stream(), throwing, {}), std::runtime_error);
  closed.wait(false);
}

// ---- proxies

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

constexpr TransportKind kTransports[] = {{"Cpprest", make_cpprest_transport}};
INSTANTIATE_TEST_SUITE_P(All, TransportTest, testing::ValuesIn(kTransports),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace inference::client
