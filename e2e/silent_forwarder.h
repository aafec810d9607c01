#pragma once

#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace inference::e2e {

/// Passes TCP connections of 127.0.0.1 on to another port there, until it is told to swallow.
class SilentForwarder {
 public:
  explicit SilentForwarder(int target_port);
  ~SilentForwarder();
  SilentForwarder(const SilentForwarder&) = delete;
  SilentForwarder& operator=(const SilentForwarder&) = delete;

  [[nodiscard]] int port() const { return port_; }
  /// From now on nothing passes, in neither direction, and nobody is told: connections stay, new ones are accepted.
  /// For good.
  void swallow();

 private:
  struct Pair {
    int near;
    int far;
  };
  void run(const std::stop_token& stop);
  void accept_one();

  int target_port_;
  int listener_ = -1;
  int port_ = 0;
  std::vector<Pair> pairs_;  // run()'s; the destructor's after it
  std::jthread thread_;
};

}  // namespace inference::e2e
