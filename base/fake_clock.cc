#include "base/fake_clock.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace inference {
namespace {

// 2026-01-01T00:00:00Z: what now_ = 0 stands for on the wall.
constexpr WallTime kEpoch{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}};

}  // namespace

TimePoint FakeClock::now() const {
  const std::scoped_lock lock(mutex_);
  return now_;
}

WallTime FakeClock::wall_now() const {
  return kEpoch + std::chrono::floor<std::chrono::milliseconds>(now().time_since_epoch());
}

void FakeClock::wait_until(std::condition_variable_any& condition, std::unique_lock<std::mutex>& lock,
                           TimePoint deadline, std::stop_token stop) {
  std::list<Sleeper>::iterator self;
  {
    const std::scoped_lock own(mutex_);
    if (now_ >= deadline) return;
    self = sleepers_.insert(sleepers_.end(), Sleeper{.condition = &condition, .mutex = lock.mutex()});
    changed_.notify_all();
  }
  // From here on advance() sees this sleeper. It takes the sleeper's mutex before it notifies, and that one is free
  // only once the wait has begun: its wake-up cannot come too early and be lost.
  bool woken = false;
  condition.wait(lock, stop, [&woken] { return std::exchange(woken, true); });
  // A pinned sleeper's mutex is wanted by advance(): give it away while waiting for the pin to go.
  lock.unlock();
  {
    std::unique_lock own(mutex_);
    self->woken = true;
    changed_.wait(own, [&self] { return self->pins == 0; });
    sleepers_.erase(self);
  }
  lock.lock();
}

void FakeClock::advance(Duration duration) {
  std::vector<Sleeper*> pinned;
  {
    const std::scoped_lock lock(mutex_);
    now_ += duration;
    for (Sleeper& sleeper : sleepers_) {
      sleeper.woken = true;
      ++sleeper.pins;
      pinned.push_back(&sleeper);
    }
  }
  for (Sleeper* sleeper : pinned) {
    { const std::scoped_lock in_wait(*sleeper->mutex); }
    sleeper->condition->notify_all();
  }
  const std::scoped_lock lock(mutex_);
  for (Sleeper* sleeper : pinned) --sleeper->pins;
  changed_.notify_all();
}

bool FakeClock::wait_for_sleepers(std::size_t count) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::seconds{10}, [this, count] {
    return std::cmp_greater_equal(std::ranges::count(sleepers_, false, &Sleeper::woken), count);
  });
}

}  // namespace inference
