#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "operator/client/testing/test_certificates.h"

namespace inference::client {

/// A request as it came in.
struct FakeRequest {
  std::string method;
  std::string target;
  std::map<std::string, std::string> headers;  // names in lower case; a repeated one is joined by ", "
  std::string body;
  int connection = 0;            // 1 for the first that was accepted
  int peer_port = 0;             // the client's
  std::string peer_certificate;  // common name of the client's certificate, empty when there is none
};

/// One connection as the test's handler sees it. Used on the connection's own thread only. Writes to a peer that has
/// gone do nothing.
class FakeConnection {
 public:
  virtual ~FakeConnection() = default;
  /// A whole answer with Content-Length, and Content-Type JSON unless `headers` (lines with CR LF) says otherwise.
  void respond(int status, std::string_view body, std::string_view headers = {});
  /// Headers of a chunked answer, then chunks, then its end.
  void begin_chunked(int status, std::string_view headers = {});
  void chunk(std::string_view bytes);
  void end_chunked();
  virtual void write(std::string_view bytes) = 0;
  /// Ends the connection in good order (TLS close_notify, FIN).
  virtual void close() = 0;
  /// Ends the TCP stream without TLS close_notify.
  virtual void cut() = 0;
  /// Ends it by RST.
  virtual void reset() = 0;
  /// Answers a CONNECT and then passes bytes to and from a port of this host until either side ends.
  virtual void tunnel(int port) = 0;
  /// Blocks until the client closes the connection or the server is stopped, at most `limit`. Returns whether so, that
  /// is whether there is nobody to write to any more.
  virtual bool wait_until_closed(std::chrono::milliseconds limit = std::chrono::seconds{20}) = 0;
};

class SocketConnection;

/// An HTTP/1.1 server on 127.0.0.1 and a free port that answers what the test says: protocol only, it knows nothing of
/// Kubernetes. Each connection has its own thread and serves one request after another until the handler, or the
/// client, ends it.
class FakeHttpServer {
 public:
  /// Called on a connection's thread for each request; must be thread-safe when the test uses several connections.
  using Handler = std::function<void(FakeConnection&, const FakeRequest&)>;
  struct Tls {
    TestCertificate certificate;
    std::string client_ca_pem = {};  // when given, a client certificate of it is required
  };

  explicit FakeHttpServer(Handler handler, std::optional<Tls> tls = std::nullopt);
  ~FakeHttpServer();

  [[nodiscard]] int port() const { return port_; }
  /// `https://127.0.0.1:PORT`, or http without TLS.
  [[nodiscard]] std::string url() const;
  /// All requests so far, in the order in which they were read whole.
  [[nodiscard]] std::vector<FakeRequest> requests() const;
  [[nodiscard]] int connections() const;
  /// Blocks until `count` requests have been read, at most 20 s; false when that did not happen.
  [[nodiscard]] bool wait_for_requests(std::size_t count) const;
  /// From now on new connections use this.
  void use(Tls tls);
  /// Closes every connection that waits for its next request, as a server does with idle ones, and waits until they are
  /// closed.
  void close_idle();

 private:
  void accept_loop(const std::stop_token& stop);
  void serve(SocketConnection& connection);

  const Handler handler_;
  mutable std::mutex mutex_;
  mutable std::condition_variable_any changed_;
  std::optional<Tls> tls_;             // guarded by mutex_
  std::vector<FakeRequest> requests_;  // guarded by mutex_
  int accepted_ = 0;                   // guarded by mutex_
  int listener_ = -1;
  int stop_event_ = -1;
  int port_ = 0;
  std::deque<std::unique_ptr<SocketConnection>> connections_;  // guarded by mutex_
  std::jthread acceptor_;
};

/// One scripted answer of a whole body.
struct FakeAnswer {
  int status = 200;
  std::string body = {};
  std::string headers = {};  // lines with CR LF
};
/// A handler that gives these answers in turn, to whatever request; after the last, 500.
[[nodiscard]] FakeHttpServer::Handler in_turn(std::vector<FakeAnswer> answers);

}  // namespace inference::client
