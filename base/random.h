#pragma once

#include <cstdint>
#include <mutex>
#include <random>

namespace inference {

/// The only source of randomness (jitter): injected, so that tests repeat. Thread-safe.
class Random {
 public:
  virtual ~Random() = default;
  /// Uniform in [0, 1).
  [[nodiscard]] virtual double uniform() = 0;
};

/// A Mersenne Twister from the given seed, or from the system's entropy.
class SeededRandom final : public Random {
 public:
  SeededRandom() : engine_(std::random_device{}()) {}
  explicit SeededRandom(std::uint64_t seed) : engine_(seed) {}
  [[nodiscard]] double uniform() override {
    const std::scoped_lock lock(mutex_);
    return std::uniform_real_distribution<double>(0.0, 1.0)(engine_);
  }

 private:
  std::mutex mutex_;
  std::mt19937_64 engine_;
};

}  // namespace inference
