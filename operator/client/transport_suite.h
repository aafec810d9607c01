#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/fake_clock.h"
#include "operator/client/http_transport.h"
#include "operator/client/testing/fake_http_server.h"
#include "operator/client/testing/test_certificates.h"

namespace inference::client {

using namespace std::chrono_literals;
using EndKind = HttpEnd::Kind;

/// A way to make a transport. The suite says what every transport must do, whatever library is behind it;
/// transport_test.cc names those that are held to it.
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

inline HttpRequest get(std::string target = "/") {
  return {.method = "GET", .target = std::move(target), .replay = HttpRequest::Replay::kIfHarmless};
}
inline HttpRequest patch() {
  return {.method = "PATCH",
          .target = "/object",
          .headers = {{"Content-Type", "application/apply-patch+yaml"}},
          .body = "{}",
          .replay = HttpRequest::Replay::kIfHarmless};
}
inline HttpRequest post() {
  return {.method = "POST", .target = "/objects", .headers = {{"Content-Type", "application/json"}}, .body = "{}"};
}
inline HttpRequest stream() {
  HttpRequest request = get("/watch");
  request.use = HttpRequest::Use::kStream;
  return request;
}

inline void send(HttpTransport& transport, const HttpRequest& request, RecordingSink& sink,
                 const std::stop_token& stop = {}) {
  transport.send(request, sink, stop);
  EXPECT_TRUE(sink.ended);
}

inline void answer_ok(FakeConnection& connection, const FakeRequest&) {
  connection.respond(200, "{}");
}
}  // namespace inference::client
