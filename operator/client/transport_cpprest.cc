#include "operator/client/transport_cpprest.h"

// Without it the library defines a macro `U`.
#define _TURN_OFF_PLATFORM_STRING
#include <cpprest/astreambuf.h>
#include <cpprest/http_client.h>
#include <cpprest/producerconsumerstream.h>
#include <pplx/threadpool.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "operator/client/http_exchange.h"
#include "operator/client/request_check.h"
#include "operator/client/server_url.h"
#include "operator/client/transport_options.h"
#include "operator/client/transport_tls.h"
#include "operator/client/trust_store.h"

namespace inference::client {

namespace {

namespace http = web::http;
using HttpClient = http::client::http_client;
using TlsSocket = boost::asio::ssl::stream<boost::asio::ip::tcp::socket&>;

// The library's own timer, restarted at each step. Ours (HttpExchange) decides; this one only ends what we have already
// given up.
constexpr std::chrono::seconds kLibraryTimeout{120};
constexpr std::chrono::seconds kLibraryTimeoutMargin{5};

/// Once a process, before anything else of the library. One thread in its pool: with more, closing a connection (cancel
/// or timeout) races with the connection's own work on another thread. So nothing of ours may block on that thread. And
/// OpenSSL's default trust store is emptied before the first connection, since the library parses it for each.
void prepare_library() {
  static const bool prepared = [] {
    empty_default_trust_store();
    crossplat::threadpool::initialize_with_threads(1);
    return true;
  }();
  (void)prepared;
}

/// Runs `work` on the library's only thread. All use of connections and tokens happens there: started, cancelled and
/// closed without a race.
void on_library_thread(std::function<void()> work) {
  crossplat::threadpool::shared_instance().service().post(std::move(work));
}

/// HttpRequest::may_send said no.
struct SendingForbidden : std::runtime_error {
  SendingForbidden() : std::runtime_error("not sent: it may not be sent any more") {}
};

/// One try at a request: the exchange with the sender, and what only the library knows about its end.
struct Attempt {
  HttpExchange exchange;
  std::atomic<bool> undelivered{false};  // set before exchange.end(): the server can't have got the whole request
  pplx::cancellation_token_source cancel;
};

/// Receives body bytes in place of the library's own buffer, which has no limit.
class ExchangeBuffer final : public Concurrency::streams::details::streambuf_state_manager<std::uint8_t> {
 public:
  explicit ExchangeBuffer(std::shared_ptr<Attempt> attempt)
      : streambuf_state_manager(std::ios_base::out), attempt_(std::move(attempt)) {}

  bool can_seek() const override { return false; }
  bool has_size() const override { return false; }
  std::size_t buffer_size(std::ios_base::openmode) const override { return 0; }
  void set_buffer_size(std::size_t, std::ios_base::openmode) override {}
  std::size_t in_avail() const override { return 0; }
  pos_type getpos(std::ios_base::openmode) const override { return static_cast<pos_type>(traits::eof()); }
  pos_type seekpos(pos_type, std::ios_base::openmode) override { return static_cast<pos_type>(traits::eof()); }
  pos_type seekoff(off_type, std::ios_base::seekdir, std::ios_base::openmode) override {
    return static_cast<pos_type>(traits::eof());
  }
  bool acquire(std::uint8_t*&, std::size_t&) override { return false; }
  void release(std::uint8_t*, std::size_t) override {}

 protected:
  // The library reads on when the task is done: a task that is not yet done is how a slow receiver slows the server
  // down.
  pplx::task<std::size_t> _putn(const std::uint8_t* data, std::size_t count) override {
    pplx::task_completion_event<std::size_t> taken;
    const std::string_view bytes(reinterpret_cast<const char*>(data), count);
    const bool more = attempt_->exchange.bytes(bytes, [taken, count] { taken.set(count); });
    attempt_->exchange.announce();
    if (more) return pplx::task_from_result(count);
    return pplx::task<std::size_t>(taken);
  }
  pplx::task<int_type> _putc(std::uint8_t byte) override {
    return _putn(&byte, 1).then([byte](std::size_t) { return static_cast<int_type>(byte); });
  }
  pplx::task<bool> _sync() override { return pplx::task_from_result(true); }
  // Never read from.
  pplx::task<int_type> _bumpc() override { return eof(); }
  int_type _sbumpc() override { return traits::eof(); }
  pplx::task<int_type> _getc() override { return eof(); }
  int_type _sgetc() override { return traits::eof(); }
  pplx::task<int_type> _nextc() override { return eof(); }
  pplx::task<int_type> _ungetc() override { return eof(); }
  pplx::task<std::size_t> _getn(std::uint8_t*, std::size_t) override { return pplx::task_from_result(std::size_t{0}); }
  std::size_t _scopy(std::uint8_t*, std::size_t) override { return 0; }
  std::uint8_t* _alloc(std::size_t) override { return nullptr; }
  void _commit(std::size_t) override {}

 private:
  static pplx::task<int_type> eof() { return pplx::task_from_result<int_type>(traits::eof()); }
  std::shared_ptr<Attempt> attempt_;
};

/// The socket of a client that makes one connection for one stream. Used on the library's thread only.
struct StreamSocket {
  void* native = nullptr;
  int connections = 0;
};

void keep_stream_alive(const StreamSocket& socket) {
  // A second connection means that the first address did not answer and the pointer is stale; the idle timeout must do
  // then.
  if (socket.native == nullptr || socket.connections != 1) return;
  keep_alive(static_cast<TlsSocket*>(socket.native)->next_layer().native_handle());
}

/// An http_client and what its connections share.
struct Client {
  std::unique_ptr<HttpClient> http;
  std::shared_ptr<const TlsMaterial> material;  // null for http://
  std::shared_ptr<VerifyOutcome> outcome = std::make_shared<VerifyOutcome>();
  std::shared_ptr<StreamSocket> socket;  // null unless for one stream
};

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> prefixes) {
  return std::ranges::any_of(prefixes, [&](std::string_view prefix) { return text.starts_with(prefix); });
}

/// The library's error codes come from several categories and are all called "generic"; its texts name the phase.
HttpEnd classify(const http::http_exception& error, const VerifyOutcome& outcome) {
  const std::string_view phase = error.what();
  const int code = error.error_code().value();
  // OpenSSL packs library and reason into one number, far above any errno.
  constexpr int kAboveErrno = 0xFFFF;
  if (phase.starts_with("Error in SSL handshake")) {
    if (outcome.error != 0)
      return {HttpEnd::Kind::kTls, "the server's certificate is refused: " + verify_error_text(outcome.error)};
    if (code > kAboveErrno)
      return {HttpEnd::Kind::kTls, "handshake failed: " + tls_error_text(static_cast<unsigned long>(code))};
    return {HttpEnd::Kind::kConnect, "the connection was closed during the TLS handshake"};
  }
  // With TLS 1.3 a server refuses a client certificate only after the handshake.
  if (code > kAboveErrno) return {HttpEnd::Kind::kTls, tls_error_text(static_cast<unsigned long>(code))};
  if (starts_with_any(phase, {"Error resolving", "Failed to resolve", "Failed to connect",
                              "Failed to send connect request", "Expected a 200 response from proxy",
                              "Invalid HTTP status line during proxy", "Failed to read HTTP status line from proxy"})) {
    return {HttpEnd::Kind::kConnect, std::string(phase)};
  }
  if (code == ETIMEDOUT) return {HttpEnd::Kind::kIdleTimeout, std::string(phase)};
  return {HttpEnd::Kind::kCut, std::string(phase)};
}

/// To be called on the library's thread with a finished task.
void finish(const std::shared_ptr<Attempt>& attempt, const VerifyOutcome& outcome, const std::function<void()>& get) {
  try {
    get();
  } catch (const http::http_exception& error) {
    // Writing failed: the connection was dead before the whole request was handed over, so the server can't have it.
    attempt->undelivered = std::string_view(error.what()).starts_with("Failed to write request");
    attempt->exchange.end(classify(error, outcome));
  } catch (const SendingForbidden& error) {
    attempt->exchange.end({HttpEnd::Kind::kCancelled, error.what()});
  } catch (const std::exception& error) {  // from the TLS callback, or a body that is not what its headers say
    attempt->exchange.end({HttpEnd::Kind::kCut, error.what()});
  }
}

void pass_headers(HttpExchange& exchange, const http::http_response& response) {
  Headers headers;
  for (const auto& [name, value] : response.headers()) headers.emplace_back(name, value);
  exchange.headers(response.status_code(), std::move(headers));
  exchange.announce();
}

/// Sends on the library's thread. `client` is kept by the continuations until the answer has ended.
void start(const std::shared_ptr<Attempt>& attempt, const std::shared_ptr<Client>& client,
           const http::http_request& request) {
  on_library_thread([attempt, client, request] {
    finish(attempt, *client->outcome, [&] {
      client->http->request(request, attempt->cancel.get_token())
          .then([attempt, client](pplx::task<http::http_response> head) {
            finish(attempt, *client->outcome, [&] {
              const http::http_response response = head.get();
              pass_headers(attempt->exchange, response);
              response.content_ready().then([attempt, client](pplx::task<http::http_response> body) {
                finish(attempt, *client->outcome, [&] {
                  body.get();
                  attempt->exchange.end({});
                });
              });
            });
          });
    });
  });
}

void set_body(http::http_request& request, const HttpRequest& from) {
  const std::string type(find_header(from.headers, "Content-Type"));
  if (from.replay == HttpRequest::Replay::kIfHarmless) {
    request.set_body(from.body, type);
    return;
  }
  // The library sends a request once more by itself when a pooled connection ends before an answer, although the server
  // may have read it. A body that can't be rewound stops it.
  Concurrency::streams::producer_consumer_buffer<std::uint8_t> buffer;
  buffer.putn_nocopy(reinterpret_cast<const std::uint8_t*>(from.body.data()), from.body.size()).get();
  buffer.close(std::ios_base::out).get();
  request.set_body(buffer.create_istream(), from.body.size(), type);
}

class CpprestTransport final : public HttpTransport {
 public:
  CpprestTransport(TransportOptions options, ServerUrl server, Clock& clock)
      : options_(std::move(options)),
        server_(std::move(server)),
        peer_{options_.tls_server_name.empty() ? server_.host : options_.tls_server_name, options_.verify},
        clock_(clock) {}

  void send(const HttpRequest& request, ResponseSink& sink, std::stop_token stop) override {
    sink.on_end(exchange(request, sink, stop));
  }

 private:
  HttpEnd exchange(const HttpRequest& request, ResponseSink& sink, const std::stop_token& stop) {
    if (auto ok = check_request(request); !ok) return {HttpEnd::Kind::kRefused, std::move(ok.error())};
    const TimePoint begin = clock_.now();
    const HttpExchange::Limits limits{
        request.idle_timeout, request.total_timeout ? std::optional(begin + *request.total_timeout) : std::nullopt,
        request.max_response_bytes};
    try {
      auto client = client_for(request);
      if (!client) return {HttpEnd::Kind::kRefused, std::move(client.error())};
      bool undelivered = false;
      HttpEnd end = attempt(*client, request, limits, sink, stop, undelivered);
      if (end.kind != HttpEnd::Kind::kCut || !undelivered) return end;
      // A pooled connection that the server had closed. The others are likely dead too, so all of them are dropped.
      forget(*client);
      client = client_for(request);
      if (!client) return end;
      return attempt(*client, request, limits, sink, stop, undelivered);
    } catch (const http::http_exception& error) {
      return {HttpEnd::Kind::kRefused, error.what()};
    } catch (const web::uri_exception& error) {
      return {HttpEnd::Kind::kRefused, error.what()};
    }
  }

  HttpEnd attempt(const std::shared_ptr<Client>& client, const HttpRequest& request, const HttpExchange::Limits& limits,
                  ResponseSink& sink, const std::stop_token& stop, bool& undelivered) {
    auto attempt = std::make_shared<Attempt>();
    // Whoever leaves early, by a stop, a limit or an exception of the sink, also ends the connection, but does not wait
    // for it.
    struct CancelUnlessComplete {
      std::shared_ptr<Attempt> attempt;
      bool complete = false;
      ~CancelUnlessComplete() {
        if (!complete) on_library_thread([attempt = attempt] { attempt->cancel.cancel(); });
      }
    } guard{attempt};
    start(attempt, client, make_request(request, attempt, client->socket));
    HttpEnd end = attempt->exchange.deliver(sink, limits, clock_, stop);
    guard.complete = end.kind == HttpEnd::Kind::kComplete;
    undelivered = attempt->undelivered;
    return end;
  }

  http::http_request make_request(const HttpRequest& from, const std::shared_ptr<Attempt>& attempt,
                                  const std::shared_ptr<StreamSocket>& socket) const {
    http::http_request request(from.method);
    request.set_request_uri(web::uri(from.target));
    for (const auto& [name, value] : from.headers) {
      if (!same_header(name, "Content-Type")) request.headers().add(name, value);
    }
    if (!from.bearer.empty())
      request.headers().add(http::header_names::authorization, "Bearer " + std::string(from.bearer.reveal()));
    // The library takes the name to verify, and to send as SNI, from here.
    if (!options_.tls_server_name.empty()) request.headers().add(http::header_names::host, options_.tls_server_name);
    if (!from.body.empty()) set_body(request, from);
    const std::shared_ptr<Concurrency::streams::details::basic_streambuf<std::uint8_t>> buffer =
        std::make_shared<ExchangeBuffer>(attempt);
    request.set_response_stream(Concurrency::streams::streambuf<std::uint8_t>(buffer).create_ostream());
    if (socket || from.may_send) {
      // Called while the request is being written: after its head, after each piece of its body, and when all is out.
      // So the connection is there; after the answer it may be gone.
      request.set_progress_handler([socket, may_send = from.may_send, size = from.body.size()](
                                       http::message_direction::direction direction, std::uint64_t sent) {
        if (direction != http::message_direction::upload) return;
        if (may_send && sent < size && !may_send()) throw SendingForbidden();
        if (socket) keep_stream_alive(*socket);
      });
    }
    return request;
  }

  /// The shared client for a call, a new one for a stream. Changed certificates give a new client, so that no old
  /// connection is used again.
  std::expected<std::shared_ptr<Client>, std::string> client_for(const HttpRequest& request) {
    std::shared_ptr<const TlsMaterial> material;
    if (server_.is_tls()) {
      auto current = options_.tls_material();
      if (!current) return std::unexpected(std::move(current.error()));
      material = std::move(*current);
    }
    const bool own = request.use == HttpRequest::Use::kStream || request.idle_timeout >= kLibraryTimeout;
    if (own)
      return make_client(std::move(material), request.idle_timeout + kLibraryTimeoutMargin,
                         std::make_shared<StreamSocket>());
    const std::scoped_lock lock(mutex_);
    if (!calls_ || !same_material(calls_->material, material)) {
      auto client = make_client(std::move(material), kLibraryTimeout, nullptr);
      if (!client) return client;
      calls_ = std::move(*client);
    }
    return calls_;
  }

  void forget(const std::shared_ptr<Client>& client) {
    const std::scoped_lock lock(mutex_);
    if (calls_ == client) calls_.reset();
  }

  std::expected<std::shared_ptr<Client>, std::string> make_client(std::shared_ptr<const TlsMaterial> material,
                                                                  Duration timeout,
                                                                  std::shared_ptr<StreamSocket> socket) const {
    if (material) {
      if (auto ok = check_tls_material(*material, options_.verify); !ok) return std::unexpected(std::move(ok.error()));
    }
    auto client = std::make_shared<Client>();
    client->material = material;
    client->socket = socket;
    http::client::http_client_config config;
    config.set_timeout(std::chrono::duration_cast<std::chrono::microseconds>(timeout));
    config.set_max_redirects(0);  // the library would send the bearer token on to wherever it is told
    config.set_validate_certificates(options_.verify == TransportOptions::Verify::kServer);
    config.set_tlsext_sni_enabled(!is_ip_address(peer_.name));  // RFC 6066: no addresses
    config.set_proxy(options_.proxy_url.empty() ? web::web_proxy(web::web_proxy::disabled)
                                                : web::web_proxy(web::uri(options_.proxy_url)));
    // Once a connection. It may not fail: the material has been tried above.
    config.set_ssl_context_callback(
        [material, peer = peer_, outcome = client->outcome, socket](boost::asio::ssl::context& context) {
          if (socket) ++socket->connections;
          if (auto ok = configure_tls(context.native_handle(), *material, peer, outcome); !ok)
            throw http::http_exception(ok.error());
        });
    const bool direct_tls = server_.is_tls() && options_.proxy_url.empty();
    if (socket && direct_tls) {
      config.set_nativehandle_options([socket](http::client::native_handle native) { socket->native = native; });
    }
    client->http = std::make_unique<HttpClient>(web::uri(server_.origin()), config);
    return client;
  }

  const TransportOptions options_;
  const ServerUrl server_;
  const TlsPeer peer_;
  Clock& clock_;
  std::mutex mutex_;
  std::shared_ptr<Client> calls_;  // guarded by mutex_
};

}  // namespace

std::expected<std::unique_ptr<HttpTransport>, std::string> make_cpprest_transport(TransportOptions options,
                                                                                  Clock& clock) {
  auto server = check_transport_options(options);
  if (!server) return std::unexpected(std::move(server.error()));
  if (server->host.find(':') != std::string::npos) {
    return std::unexpected("server: an IPv6 address can't be connected to; use a name that resolves to it");
  }
  prepare_library();
  return std::make_unique<CpprestTransport>(std::move(options), std::move(*server), clock);
}

}  // namespace inference::client
