#include "operator/runtime/health_server.h"

#include <civetweb.h>

#include <array>
#include <vector>

#include "base/guarded.h"
#include "base/parse_integer.h"

namespace inference::runtime {
namespace {

struct Answer {
  int status;
  const char* content_type;
  std::string body;
};

constexpr const char* kPlain = "text/plain; charset=utf-8";

void send(mg_connection* connection, const Answer& answer) {
  mg_printf(connection,
            "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\nCache-Control: "
            "no-store\r\n\r\n",
            answer.status, mg_get_response_code_text(connection, answer.status), answer.content_type,
            answer.body.size());
  mg_write(connection, answer.body.data(), answer.body.size());
}

Answer probe(const std::expected<void, std::string>& verdict) {
  if (verdict.has_value()) return {.status = 200, .content_type = kPlain, .body = "ok\n"};
  return {.status = 503, .content_type = kPlain, .body = verdict.error() + "\n"};
}

Answer answer(const HealthChecks& checks, std::string_view method, std::string_view path) {
  if (method != "GET") return {.status = 405, .content_type = kPlain, .body = "only GET\n"};
  if (path == "/healthz") return probe(checks.alive());
  if (path == "/readyz") return probe(checks.ready());
  if (path == "/metrics")
    return {.status = 200, .content_type = "text/plain; version=0.0.4; charset=utf-8", .body = checks.metrics()};
  return {.status = 404, .content_type = kPlain, .body = "there are /healthz, /readyz and /metrics\n"};
}

int handle(mg_connection* connection, void* checks) {
  const mg_request_info* request = mg_get_request_info(connection);
  const char* path = request->local_uri == nullptr ? "" : request->local_uri;
  const Answer reply = answer(*static_cast<const HealthChecks*>(checks), request->request_method, path);
  send(connection, reply);
  return reply.status;
}

// civetweb's words for `host:port`; the choices are tried in turn. "+" listens on IPv4 and IPv6, which fails on a node
// without IPv6.
std::expected<std::vector<std::string>, std::string> listening_ports(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return std::unexpected("health address \"" + address + "\" is not host:port");
  const std::string port = address.substr(colon + 1);
  const auto number = parse_integer<unsigned>(port);
  if (!number || *number > 65535) {
    return std::unexpected("health address \"" + address + "\" has no port between 0 and 65535");
  }
  if (colon == 0) return std::vector<std::string>{"+" + port, port};
  return std::vector<std::string>{address};
}

}  // namespace

struct HealthServer::Server {
  HealthChecks checks;
  Guarded<std::string> complaint;  // the first of the current start
  mg_context* context = nullptr;
  ~Server() { mg_stop(context); }

  // civetweb's error says only that the ports could not be set up. The cause stands in its log, which would go past
  // ours to standard error.
  static int keep_complaint(const mg_connection* connection, const char* line) {
    auto* const server = static_cast<Server*>(mg_get_user_data(mg_get_context(connection)));
    if (server == nullptr) return 1;
    server->complaint.with([line](std::string& first) {
      if (first.empty()) first = line;
    });
    return 1;
  }
};

HealthServer::HealthServer(std::unique_ptr<Server> server, int port) : server_(std::move(server)), port_(port) {}
HealthServer::~HealthServer() = default;

std::expected<void, std::string> HealthServer::check(const std::string& address) {
  const auto choices = listening_ports(address);
  if (!choices.has_value()) return std::unexpected(choices.error());
  return {};
}

std::expected<std::unique_ptr<HealthServer>, std::string> HealthServer::start(const std::string& address,
                                                                              HealthChecks checks) {
  const auto choices = listening_ports(address);
  if (!choices.has_value()) return std::unexpected(choices.error());
  auto server = std::make_unique<Server>();
  server->checks = std::move(checks);
  mg_callbacks callbacks{};
  callbacks.log_message = Server::keep_complaint;
  for (const std::string& ports : *choices) {
    // Two threads: a scrape must not hold up a probe. A client that sends nothing is let go after the timeout.
    std::array<const char*, 9> options{
        "listening_ports",   ports.c_str(), "num_threads", "2", "request_timeout_ms", "5000",
        "enable_keep_alive", "no",          nullptr};
    server->complaint.with([](std::string& first) { first.clear(); });
    server->context = mg_start(&callbacks, server.get(), options.data());
    if (server->context != nullptr) break;
  }
  if (server->context == nullptr) {
    return std::unexpected("cannot listen on health address \"" + address +
                           "\": " + server->complaint.with([](const std::string& first) { return first; }));
  }
  mg_set_request_handler(server->context, "**", handle, &server->checks);
  mg_server_port port{};
  mg_get_server_ports(server->context, 1, &port);
  return std::unique_ptr<HealthServer>(new HealthServer(std::move(server), port.port));
}

}  // namespace inference::runtime
