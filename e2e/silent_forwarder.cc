#include "e2e/silent_forwarder.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>

namespace inference::e2e {
namespace {

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int open_socket() {
  return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);  // not the operator's, which the test starts
}

/// Moves what is there; false at the end of either side.
bool move_bytes(int from, int to) {
  char buffer[65536];
  const ssize_t count = recv(from, buffer, sizeof buffer, 0);
  for (ssize_t sent = 0; sent < count;) {
    const ssize_t part = send(to, buffer + sent, static_cast<std::size_t>(count - sent), MSG_NOSIGNAL);
    if (part <= 0) return false;
    sent += part;
  }
  return count > 0;
}

}  // namespace

SilentForwarder::SilentForwarder(int target_port) : target_port_(target_port), listener_(open_socket()) {
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  EXPECT_EQ(bind(listener_, reinterpret_cast<const sockaddr*>(&address), size), 0);
  EXPECT_EQ(listen(listener_, 64), 0);
  EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

SilentForwarder::~SilentForwarder() {
  swallow();
  for (const Pair& pair : pairs_) {
    close(pair.near);
    close(pair.far);
  }
  close(listener_);
}

void SilentForwarder::swallow() {
  // The sockets stay open and unread: the kernel goes on acknowledging until its buffers are full.
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void SilentForwarder::accept_one() {
  const int near = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (near < 0) return;
  const int far = open_socket();
  const sockaddr_in address = loopback(target_port_);
  if (connect(far, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    pairs_.push_back({near, far});
  } else {
    close(near);
    close(far);
  }
}

void SilentForwarder::run(const std::stop_token& stop) {
  constexpr int kLookForStop = 20;  // ms
  while (!stop.stop_requested()) {
    std::vector<pollfd> polled = {{listener_, POLLIN, 0}};
    for (const Pair& pair : pairs_) {
      polled.push_back({pair.near, POLLIN, 0});
      polled.push_back({pair.far, POLLIN, 0});
    }
    if (poll(polled.data(), polled.size(), kLookForStop) <= 0) continue;
    std::vector<Pair> open;
    for (std::size_t index = 0; index < pairs_.size(); ++index) {
      const Pair pair = pairs_[index];
      const bool alive = (polled[1 + 2 * index].revents == 0 || move_bytes(pair.near, pair.far)) &&
                         (polled[2 + 2 * index].revents == 0 || move_bytes(pair.far, pair.near));
      if (alive) {
        open.push_back(pair);
      } else {
        close(pair.near);
        close(pair.far);
      }
    }
    pairs_ = std::move(open);
    if (polled[0].revents != 0) accept_one();
  }
}

}  // namespace inference::e2e
