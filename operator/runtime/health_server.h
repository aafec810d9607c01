#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <string>

namespace inference::runtime {

/// What the probes answer with. Called on the server's threads, several at once; must not block.
struct HealthChecks {
  std::function<std::expected<void, std::string>()> alive;  // /healthz: else the kubelet restarts us
  std::function<std::expected<void, std::string>()> ready;  // /readyz
  std::function<std::string()> metrics;                     // /metrics: the text exposition format
};

/// Serves /healthz, /readyz and /metrics by plain HTTP, GET only, on civetweb, which prometheus-cpp brings along. Its
/// own exposer serves nothing but metrics, and one port is simpler to probe, to allow and to scrape.
class HealthServer {
 public:
  /// Whether `start` could understand the address; nothing is tried. The error is one line that names it.
  [[nodiscard]] static std::expected<void, std::string> check(const std::string& address);

  /// `address` is `host:port` or `:port` (all interfaces); port 0 takes a free one. The error is one line that names
  /// the address.
  [[nodiscard]] static std::expected<std::unique_ptr<HealthServer>, std::string> start(const std::string& address,
                                                                                       HealthChecks checks);
  /// Stops listening and waits for requests in flight (each is bounded to seconds).
  ~HealthServer();
  HealthServer(const HealthServer&) = delete;
  HealthServer& operator=(const HealthServer&) = delete;

  [[nodiscard]] int port() const { return port_; }

 private:
  struct Server;
  HealthServer(std::unique_ptr<Server> server, int port);
  std::unique_ptr<Server> server_;
  int port_;
};

}  // namespace inference::runtime
