#include "operator/client/transport_options.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <utility>

namespace inference::client {

std::expected<ServerUrl, std::string> check_transport_options(const TransportOptions& options) {
  auto server = parse_server_url(options.server);
  if (!server) return std::unexpected("server: " + server.error());
  if (!options.proxy_url.empty()) {
    auto proxy = parse_server_url(options.proxy_url);
    if (!proxy) return std::unexpected("proxy: " + proxy.error());
    if (proxy->is_tls()) return std::unexpected("proxy: TLS to a proxy is not supported, use http://");
  }
  if (server->is_tls() && !options.tls_material) return std::unexpected("server: https needs certificates");
  return server;
}

void keep_alive(int socket) {
  constexpr int kIdleSeconds = 15;
  constexpr int kIntervalSeconds = 5;
  constexpr int kProbes = 3;
  constexpr unsigned kUnacknowledgedMilliseconds = 30'000;
  const auto set = [socket](int level, int option, const auto& value) {
    ::setsockopt(socket, level, option, &value, sizeof(value));
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kIdleSeconds);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kIntervalSeconds);
  set(IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, kUnacknowledgedMilliseconds);
}

}  // namespace inference::client
