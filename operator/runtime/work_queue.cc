#include "operator/runtime/work_queue.h"

namespace inference::runtime {
namespace {

// A wait with nothing delayed ends by a notification; the bound only keeps the deadline representable on any clock.
constexpr Duration kLongWait = std::chrono::hours{1};

}  // namespace

WorkQueue::WorkQueue(Clock& clock, QueueMetrics metrics, RateLimits limits)
    : clock_(clock), metrics_(metrics), limiter_(clock, limits) {}

void WorkQueue::add(const client::ObjectRef& key) {
  const std::scoped_lock lock(mutex_);
  add_locked(key);
}

void WorkQueue::add_locked(const client::ObjectRef& key) {
  if (shut_down_ || !dirty_.emplace(key, clock_.now()).second) return;
  metrics_.added();
  if (processing_.contains(key)) return;  // done() will see that it is dirty
  waiting_.push_back(key);
  metrics_.depth(waiting_.size());
  changed_.notify_one();
}

void WorkQueue::add_after(const client::ObjectRef& key, Duration delay) {
  const std::scoped_lock lock(mutex_);
  delay_locked(key, delay);
}

void WorkQueue::add_rate_limited(const client::ObjectRef& key) {
  const std::scoped_lock lock(mutex_);
  if (shut_down_) return;
  metrics_.retried();
  delay_locked(key, limiter_.next_delay(key));
}

void WorkQueue::delay_locked(const client::ObjectRef& key, Duration delay) {
  if (delay <= Duration::zero()) return add_locked(key);
  if (shut_down_) return;
  move_ready_locked();  // a delay that has passed but was not seen yet must not swallow this one
  const TimePoint ready = clock_.now() + delay;
  const auto [known, is_new] = ready_at_.emplace(key, ready);
  if (!is_new) {
    if (known->second <= ready) return;
    known->second = ready;  // its old entry in delayed_ is outdated from now on
  }
  const bool earliest = delayed_.empty() || ready < delayed_.top().ready;
  delayed_.push({.ready = ready, .key = key});
  // All of them, not one: the one woken might take another key, and the rest would sleep past this delay.
  if (earliest) changed_.notify_all();
}

void WorkQueue::move_ready_locked() {
  const TimePoint now = clock_.now();
  while (!delayed_.empty() && delayed_.top().ready <= now) {
    const Delayed due = delayed_.top();
    delayed_.pop();
    const auto known = ready_at_.find(due.key);
    if (known == ready_at_.end() || known->second != due.ready) continue;
    ready_at_.erase(known);
    add_locked(due.key);
  }
}

std::optional<client::ObjectRef> WorkQueue::get(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    move_ready_locked();
    if (!waiting_.empty()) {
      client::ObjectRef key = std::move(waiting_.front());
      waiting_.pop_front();
      const TimePoint now = clock_.now();
      const Duration waited = now - dirty_.extract(key).mapped();
      processing_.emplace(key, now);
      metrics_.depth(waiting_.size());
      lock.unlock();
      metrics_.waited(waited);
      return key;
    }
    if (shut_down_) return std::nullopt;
    const TimePoint deadline = delayed_.empty() ? clock_.now() + kLongWait : delayed_.top().ready;
    clock_.wait_until(changed_, lock, deadline, stop);
  }
  return std::nullopt;
}

void WorkQueue::done(const client::ObjectRef& key) {
  std::unique_lock lock(mutex_);
  const auto held = processing_.extract(key);
  if (held.empty()) return;
  const Duration worked = clock_.now() - held.mapped();
  if (dirty_.contains(key)) {  // also after shut_down: it was added before
    waiting_.push_back(key);
    metrics_.depth(waiting_.size());
    changed_.notify_one();
  }
  lock.unlock();
  metrics_.worked(worked);
}

void WorkQueue::forget(const client::ObjectRef& key) {
  const std::scoped_lock lock(mutex_);
  limiter_.forget(key);
}

void WorkQueue::shut_down() {
  const std::scoped_lock lock(mutex_);
  shut_down_ = true;
  delayed_ = {};
  ready_at_.clear();
  changed_.notify_all();
}

std::size_t WorkQueue::length() const {
  const std::scoped_lock lock(mutex_);
  return waiting_.size();
}

std::size_t WorkQueue::failures(const client::ObjectRef& key) const {
  const std::scoped_lock lock(mutex_);
  return limiter_.failures(key);
}

}  // namespace inference::runtime
