#pragma once

#include <mutex>
#include <utility>

namespace inference {

/// A value and the mutex that guards it in one object: the only way to the value is through the lock.
template <typename T>
class Guarded {
 public:
  template <typename... Args>
  explicit Guarded(Args&&... args) : value_(std::forward<Args>(args)...) {}
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  /// Calls `f(T&)` with the lock held. `f` must not block, call back into the owner or log.
  template <typename F>
  decltype(auto) with(F&& f) {
    const std::scoped_lock lock(mutex_);
    return std::forward<F>(f)(value_);
  }
  template <typename F>
  decltype(auto) with(F&& f) const {
    const std::scoped_lock lock(mutex_);
    return std::forward<F>(f)(value_);
  }

 private:
  mutable std::mutex mutex_;
  T value_;
};

}  // namespace inference
