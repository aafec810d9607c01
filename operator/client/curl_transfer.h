#pragma once

#include <curl/curl.h>

#include <array>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "operator/client/http_exchange.h"
#include "operator/client/http_transport.h"
#include "operator/client/server_url.h"
#include "operator/client/transport_tls.h"

namespace inference::client {

/// The open sockets of one connection pool by their local ports: libcurl does not say which one a request is about to
/// use. For the pool's thread only.
class CurlSockets {
 public:
  /// Forgets those that are closed meanwhile.
  void remember(int port, curl_socket_t socket);
  void close(curl_socket_t socket);
  /// Whether something came since the last answer: nothing does, unless the server has ended the connection.
  [[nodiscard]] bool has_something_to_read(int port) const;

 private:
  std::map<int, curl_socket_t> by_port_;
};

/// What the transfers of one pool have in common.
struct CurlPool {
  TransportOptions options = {};
  ServerUrl server = {};
  std::shared_ptr<const TlsMaterial> material = {};  // null for http://
  CurlSockets sockets = {};
};

/// One try at a request by libcurl. From its start on, all but `exchange` belongs to the thread on which libcurl runs,
/// until the exchange has an end.
struct CurlTransfer : std::enable_shared_from_this<CurlTransfer> {
  /// Ready to be started, but for `resume`. `pool` must outlive the transfer's connections. The error says why libcurl
  /// can't.
  [[nodiscard]] static std::expected<std::shared_ptr<CurlTransfer>, std::string> make(const HttpRequest& request,
                                                                                      CurlPool& pool);
  /// What libcurl's result means.
  [[nodiscard]] HttpEnd end(CURLcode result) const;

  HttpExchange exchange;
  std::function<void()> resume;  // called on the sender's thread when libcurl may go on after a pause
  bool head_received = false;
  bool has_news = false;  // that the sender has not been told of
  bool paused = false;
  bool sent = false;         // at least the beginning of the request
  bool pooled = false;       // over a connection that had been used before
  bool undelivered = false;  // the server can't have got the whole request
  bool forbidden = false;    // may_send said no
  std::function<bool()> may_send;

  template <auto Free>
  struct Deleter {
    template <typename T>
    void operator()(T* pointer) const {
      Free(pointer);
    }
  };
  using List = std::unique_ptr<curl_slist, Deleter<curl_slist_free_all>>;
  CurlPool* pool = nullptr;
  std::shared_ptr<VerifyOutcome> outcome = std::make_shared<VerifyOutcome>();
  curl_socket_t socket = CURL_SOCKET_BAD;  // the last that was opened for it
  Headers received;
  // Used by `easy`, hence declared before it.
  std::array<char, CURL_ERROR_SIZE> error{};
  List headers;
  List connect_to;
  std::string body;
  std::unique_ptr<CURL, Deleter<curl_easy_cleanup>> easy;
};

}  // namespace inference::client
