#include "operator/client/curl_transfer.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <new>
#include <string_view>
#include <utility>

#include "operator/client/request_check.h"
#include "operator/client/transport_options.h"

namespace inference::client {

namespace {

// The API server ends a connection after 90 s without a request (k8s.io/apiserver, secure_serving.go).
constexpr long kOldestPooledSeconds = 60;

TlsPeer peer_of(const CurlPool& pool) {
  const std::string& name = pool.options.tls_server_name;
  return {name.empty() ? pool.server.host : name, pool.options.verify};
}

/// Called when there is a connection, right before the request is sent. libcurl sends a request again by itself, up to
/// five times, when a pooled connection ends before an answer, although the server may have read it. That is for the
/// sender to decide, so the second time ends the transfer.
int before_sending(void* user, char*, char*, int, int local_port) {
  auto& transfer = *static_cast<CurlTransfer*>(user);
  if (transfer.sent) return CURL_PREREQFUNC_ABORT;
  long made = 0;
  curl_easy_getinfo(transfer.easy.get(), CURLINFO_NUM_CONNECTS, &made);
  transfer.pooled = made == 0;
  CurlSockets& sockets = transfer.pool->sockets;
  if (!transfer.pooled) sockets.remember(local_port, transfer.socket);
  // libcurl itself takes a connection in which a TLS close_notify waits for alive.
  transfer.undelivered = transfer.pooled && sockets.has_something_to_read(local_port);
  if (transfer.undelivered) return CURL_PREREQFUNC_ABORT;
  transfer.forbidden = transfer.may_send && !transfer.may_send();
  if (transfer.forbidden) return CURL_PREREQFUNC_ABORT;
  transfer.sent = true;
  return CURL_PREREQFUNC_OK;
}

CURLcode set_up_tls(CURL*, void* context, void* user) {
  const auto& transfer = *static_cast<CurlTransfer*>(user);
  // The material has been tried before.
  const auto ok = configure_tls(static_cast<ssl_ctx_st*>(context), *transfer.pool->material, peer_of(*transfer.pool),
                                transfer.outcome);
  return ok ? CURLE_OK : CURLE_SSL_CERTPROBLEM;
}

int set_up_socket(void* user, curl_socket_t socket, curlsocktype) {
  static_cast<CurlTransfer*>(user)->socket = socket;
  return CURL_SOCKOPT_OK;
}

int set_up_stream_socket(void* user, curl_socket_t socket, curlsocktype purpose) {
  keep_alive(socket);
  return set_up_socket(user, socket, purpose);
}

int close_socket(void* user, curl_socket_t socket) {
  static_cast<CurlPool*>(user)->sockets.close(socket);
  return 0;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

/// Called with each line: of the head, of interim answers (1xx) before it, and of the trailer.
std::size_t take_header(char* data, std::size_t, std::size_t size, void* user) {
  auto& transfer = *static_cast<CurlTransfer*>(user);
  if (transfer.head_received) return size;
  const std::string_view line = trim({data, size});
  if (line.empty()) {
    long status = 0;
    curl_easy_getinfo(transfer.easy.get(), CURLINFO_RESPONSE_CODE, &status);
    transfer.head_received = status >= 200;
    transfer.has_news = transfer.head_received;
    if (transfer.head_received) transfer.exchange.headers(static_cast<int>(status), std::move(transfer.received));
  } else if (line.starts_with("HTTP/")) {
    transfer.received.clear();
  } else if (const std::size_t colon = line.find(':'); colon != std::string_view::npos) {
    transfer.received.emplace_back(line.substr(0, colon), trim(line.substr(colon + 1)));
  }
  return size;
}

std::size_t take_body(char* data, std::size_t, std::size_t size, void* user) {
  auto& transfer = *static_cast<CurlTransfer*>(user);
  if (transfer.paused) return CURL_WRITEFUNC_PAUSE;  // libcurl keeps these bytes
  transfer.has_news = true;
  transfer.paused = !transfer.exchange.bytes({data, size}, transfer.resume);
  return size;
}

/// Sets options of a transfer and remembers whether libcurl refused one.
struct OptionSetter {
  CURL* easy;
  CURLcode result = CURLE_OK;
  template <typename Value>
  void operator()(CURLoption option, Value value) {
    if (const CURLcode code = curl_easy_setopt(easy, option, value); code != CURLE_OK) result = code;
  }
};

/// What makes a request safe: nothing comes from the environment or a file, and nothing is sent anywhere else.
void set_boundaries(OptionSetter& set, const TransportOptions& options) {
  const bool verify = options.verify == TransportOptions::Verify::kServer;
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  set(CURLOPT_PROXY, options.proxy_url.c_str());  // empty: none, whatever the environment says
  set(CURLOPT_NOPROXY, "");
  set(CURLOPT_HTTPPROXYTUNNEL, 1L);
  set(CURLOPT_HEADEROPT, static_cast<long>(CURLHEADER_SEPARATE));  // the proxy gets none of our headers
  set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  set(CURLOPT_SSL_VERIFYPEER, verify ? 1L : 0L);
  set(CURLOPT_SSL_VERIFYHOST, verify ? 2L : 0L);
  // What is trusted is set on the context. The default files would be read for each connection, for nothing.
  set(CURLOPT_CAINFO, static_cast<const char*>(nullptr));
  set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));
  // A resumed session skips the verification, also when other authorities are trusted by now.
  set(CURLOPT_SSL_SESSIONID_CACHE, 0L);
}

void set_behaviour(OptionSetter& set, const HttpRequest& request) {
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_QUICK_EXIT, 1L);  // a cancelled transfer does not wait for its name to be resolved
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_MAXAGE_CONN, kOldestPooledSeconds);
  // Only so that a second address is tried while there is time: our own limits end the request.
  set(CURLOPT_CONNECTTIMEOUT_MS,
      static_cast<long>(std::chrono::ceil<std::chrono::milliseconds>(request.idle_timeout).count()));
  if (request.use == HttpRequest::Use::kStream) {
    set(CURLOPT_FRESH_CONNECT, 1L);
    set(CURLOPT_FORBID_REUSE, 1L);
    set(CURLOPT_SOCKOPTFUNCTION, set_up_stream_socket);
  } else {
    set(CURLOPT_SOCKOPTFUNCTION, set_up_socket);
  }
}

void set_callbacks(OptionSetter& set, CurlTransfer& transfer) {
  set(CURLOPT_PRIVATE, &transfer);
  set(CURLOPT_ERRORBUFFER, transfer.error.data());
  set(CURLOPT_SOCKOPTDATA, &transfer);
  set(CURLOPT_CLOSESOCKETFUNCTION, close_socket);  // also after the transfer, hence with the pool
  set(CURLOPT_CLOSESOCKETDATA, transfer.pool);
  set(CURLOPT_PREREQFUNCTION, before_sending);
  set(CURLOPT_PREREQDATA, &transfer);
  set(CURLOPT_HEADERFUNCTION, take_header);
  set(CURLOPT_HEADERDATA, &transfer);
  set(CURLOPT_WRITEFUNCTION, take_body);
  set(CURLOPT_WRITEDATA, &transfer);
  if (!transfer.pool->material) return;
  set(CURLOPT_SSL_CTX_FUNCTION, set_up_tls);
  set(CURLOPT_SSL_CTX_DATA, &transfer);
}

void append(CurlTransfer::List& list, const std::string& line) {
  curl_slist* longer = curl_slist_append(list.get(), line.c_str());
  if (longer == nullptr) throw std::bad_alloc();
  (void)list.release();
  list.reset(longer);
}

/// The request's headers and nothing else: libcurl's own are switched off ("Name:"), an empty value is "Name;".
CurlTransfer::List make_headers(const HttpRequest& request) {
  CurlTransfer::List list;
  for (const char* own : {"Accept", "Content-Type", "Expect", "User-Agent"}) {
    if (find_header(request.headers, own).empty()) append(list, std::string(own) + ":");
  }
  for (const auto& [name, value] : request.headers) append(list, value.empty() ? name + ";" : name + ": " + value);
  if (!request.bearer.empty()) append(list, "Authorization: Bearer " + std::string(request.bearer.reveal()));
  return list;
}

void set_request(OptionSetter& set, CurlTransfer& transfer, const HttpRequest& request) {
  transfer.headers = make_headers(request);
  transfer.body = request.body;
  const bool has_body = !request.body.empty() || (request.method != "GET" && request.method != "DELETE");
  if (request.method == "HEAD") {
    set(CURLOPT_NOBODY, 1L);
  } else if (has_body) {
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(transfer.body.size()));
    set(CURLOPT_POSTFIELDS, transfer.body.c_str());
  }
  set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
  set(CURLOPT_REQUEST_TARGET, request.target.c_str());
  set(CURLOPT_HTTPHEADER, transfer.headers.get());
}

}  // namespace

void CurlSockets::remember(int port, curl_socket_t socket) {
  by_port_[port] = socket;
}

void CurlSockets::close(curl_socket_t socket) {
  std::erase_if(by_port_, [socket](const auto& entry) { return entry.second == socket; });
  ::close(socket);
}

bool CurlSockets::has_something_to_read(int port) const {
  const auto found = by_port_.find(port);
  char byte = 0;
  return found != by_port_.end() && ::recv(found->second, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

std::expected<std::shared_ptr<CurlTransfer>, std::string> CurlTransfer::make(const HttpRequest& request,
                                                                             CurlPool& pool) {
  auto transfer = std::make_shared<CurlTransfer>();
  transfer->pool = &pool;
  transfer->may_send = request.may_send;
  transfer->easy.reset(curl_easy_init());
  if (!transfer->easy) return std::unexpected("libcurl can't make a transfer");
  OptionSetter set{transfer->easy.get()};
  set_boundaries(set, pool.options);
  set_behaviour(set, request);
  set_callbacks(set, *transfer);
  set_request(set, *transfer, request);
  ServerUrl url = pool.server;
  if (!pool.options.tls_server_name.empty()) {
    // The name to verify, and to send as SNI, is the URL's; the connection goes to the server ("::" is any URL).
    url.host = pool.options.tls_server_name;
    append(transfer->connect_to, "::" + pool.server.origin().substr(pool.server.scheme.size() + 3));
    set(CURLOPT_CONNECT_TO, transfer->connect_to.get());
  }
  set(CURLOPT_URL, url.origin().c_str());
  if (set.result != CURLE_OK) return std::unexpected(std::string("libcurl: ") + curl_easy_strerror(set.result));
  return transfer;
}

HttpEnd CurlTransfer::end(CURLcode code) const {
  if (code == CURLE_OK) return {};
  const std::string detail = error[0] == '\0' ? curl_easy_strerror(code) : error.data();
  if (forbidden) return {HttpEnd::Kind::kCancelled, "not sent: it may not be sent any more"};
  if (code == CURLE_ABORTED_BY_CALLBACK) return {HttpEnd::Kind::kCut, "the server has closed the pooled connection"};
  if (sent) {
    // With TLS 1.3 a server refuses a client certificate only after the handshake.
    const bool refused = !head_received && detail.find(" alert ") != std::string::npos;
    return {refused ? HttpEnd::Kind::kTls : HttpEnd::Kind::kCut, detail};
  }
  if (outcome->error != 0) {
    return {HttpEnd::Kind::kTls, "the server's certificate is refused: " + verify_error_text(outcome->error)};
  }
  const bool in_handshake = code == CURLE_SSL_CONNECT_ERROR || code == CURLE_PEER_FAILED_VERIFICATION ||
                            code == CURLE_SSL_CERTPROBLEM || code == CURLE_SSL_CIPHER;
  return {in_handshake ? HttpEnd::Kind::kTls : HttpEnd::Kind::kConnect, detail};
}

}  // namespace inference::client
