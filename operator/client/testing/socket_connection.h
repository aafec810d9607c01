#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "operator/client/openssl_pointers.h"
#include "operator/client/testing/fake_http_server.h"

namespace inference::client {

/// A connection of FakeHttpServer, plain or with TLS. The socket is non-blocking: every wait is a poll that also
/// watches the server's stop event, so nothing outlives the server. Used on its own thread only, but for close_if_idle
/// and the public flags.
class SocketConnection final : public FakeConnection {
 public:
  /// Takes over `fd`.
  SocketConnection(int fd, int number, int peer_port, int stop_event)
      : number(number), peer_port(peer_port), fd_(fd), stop_event_(stop_event) {}
  ~SocketConnection() override;

  bool handshake(const FakeHttpServer::Tls& tls);
  [[nodiscard]] std::string peer_certificate() const;
  /// Reads until `buffer` holds `size` bytes or, with 0, a blank line. False at the end of the stream.
  bool read_until(std::string& buffer, std::size_t size);

  void write(std::string_view bytes) override;
  void close() override;
  void cut() override;
  void reset() override;
  void tunnel(int port) override;
  bool wait_until_closed(std::chrono::milliseconds limit) override;

  [[nodiscard]] bool is_open() const { return open_; }
  /// Closes the connection from another thread if it waits for its next request.
  void close_if_idle();

  const int number;
  const int peer_port;
  std::atomic<bool> idle{false};
  std::atomic<bool> finished{false};
  std::jthread thread;

 private:
  // True when the socket is ready, false after the limit or (stopping_) when the server stops.
  bool wait(short events, std::chrono::milliseconds limit);
  int retry(const std::function<int()>& operation);
  int read_some(char* bytes, std::size_t size);
  int write_plain(const char* bytes, int size);

  int fd_;
  const int stop_event_;
  bool open_ = true;
  bool stopping_ = false;
  openssl::Context context_;
  openssl::Session ssl_;
};

}  // namespace inference::client
