#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "operator/client/secret.h"

namespace inference::client {

using Headers = std::vector<std::pair<std::string, std::string>>;

/// One HTTP request, complete before it is sent.
struct HttpRequest {
  /// A call is a short exchange on a pooled connection. A stream (a watch) may be quiet for minutes: it gets a
  /// connection of its own, with TCP keep-alive, closed at its end.
  enum class Use { kCall, kStream };
  /// What to do when a pooled connection turns out to be dead. kIfHarmless: send once more on a new one, although the
  /// first may have been delivered (reads, server-side apply). kIfUndelivered: only when the server can't have received
  /// the whole request.
  enum class Replay { kIfHarmless, kIfUndelivered };

  std::string method = {};
  std::string target = {};  // origin-form: path and query, percent-encoded
  Headers headers = {};     // values may not contain CR, LF or NUL; Host is the transport's own
  Secret bearer = {};       // sent as `Authorization: Bearer`, never to another host
  std::string body = {};
  Use use = Use::kCall;
  Replay replay = Replay::kIfUndelivered;
  /// Longest time without any progress: from the start to the headers, then between two pieces of the body.
  Duration idle_timeout = std::chrono::seconds{30};
  /// Longest time for everything.
  std::optional<Duration> total_timeout = {};
  std::size_t max_response_bytes = std::size_t{64} * 1024 * 1024;
  /// Asked when there is a connection and before the body is handed over, each time that is done; after a no the server
  /// does not get the body and the exchange ends as cancelled. Empty: always yes. Called on any thread, maybe after
  /// send() has returned; must be quick.
  std::function<bool()> may_send = {};
};

/// How an exchange ended.
struct HttpEnd {
  enum class Kind {
    kComplete,  // the whole answer was delivered
    kConnect,   // no connection was made
    kTls,       // the handshake failed; detail says why ("hostname mismatch", "self-signed certificate in certificate
                // chain")
    kIdleTimeout,   // nothing moved for idle_timeout
    kTotalTimeout,  // total_timeout passed
    kCut,           // the connection broke after it was made
    kCancelled,     // the stop token, or the sink
    kTooLarge,      // more than max_response_bytes
    kRefused,       // not sent: unsafe header or target, or the TLS material could not be had
  };
  Kind kind = Kind::kComplete;
  std::string detail = {};  // for people; never contains header values or bodies
};

/// Receives an answer as it comes. All members are called on the thread that called send(), in this order: on_headers
/// at most once, on_bytes any number of times, on_end exactly once.
class ResponseSink {
 public:
  virtual ~ResponseSink() = default;
  virtual void on_headers(int status, const Headers& headers) = 0;
  /// Return kStop to end the exchange here (it ends as kCancelled). May block: the connection waits (back-pressure).
  enum class Next { kMore, kStop };
  virtual Next on_bytes(std::string_view bytes) = 0;
  virtual void on_end(const HttpEnd& end) = 0;
};

/// PEM texts that a connection is made with. A changed value takes effect with the next request, over a new connection.
struct TlsMaterial {
  std::string ca_pem = {};           // one or more certificates: nothing else is trusted
  std::string certificate_pem = {};  // chain, leaf first; empty: no client certificate
  Secret key_pem = {};
  bool operator==(const TlsMaterial&) const = default;
};

/// Sends requests to one server. Thread-safe: any number of threads may send at once. Push-shaped so that any HTTP
/// library fits; nothing here names one. Redirects are never followed (they come back as answers), proxies and
/// certificates never come from the environment.
class HttpTransport {
 public:
  virtual ~HttpTransport() = default;

  /// Blocks until the answer is complete or has failed; `sink.on_end` has been called when it returns. Returns within
  /// milliseconds of a stop. An exception of the sink ends the exchange and passes through, without on_end.
  virtual void send(const HttpRequest& request, ResponseSink& sink, std::stop_token stop) = 0;
};

/// What a transport is made for.
struct TransportOptions {
  std::string server = {};           // https://host:port or http://host:port; no path
  std::string tls_server_name = {};  // empty: the host
  enum class Verify { kServer, kNothing } verify = Verify::kServer;
  std::string proxy_url = {};  // http://host:port, used with CONNECT; empty: direct
  /// Called before each request, on the sender's thread; must be cheap when nothing changed and thread-safe. May return
  /// the same pointer again.
  std::function<std::expected<std::shared_ptr<const TlsMaterial>, std::string>()> tls_material = {};
};

/// Makes the transport that this build ships (INFERENCE_TRANSPORT in CMake). The error says what is wrong with the
/// options. `clock` must outlive the transport.
[[nodiscard]] std::expected<std::unique_ptr<HttpTransport>, std::string> make_transport(TransportOptions options,
                                                                                        Clock& clock);

}  // namespace inference::client
