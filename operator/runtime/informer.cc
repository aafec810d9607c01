#include "operator/runtime/informer.h"

#include <pthread.h>

#include <stdexcept>

namespace inference::runtime {

Informer::Informer(InformerOptions options, std::unique_ptr<ListWatch> source, Metrics& metrics, Clock& clock,
                   Random& random)
    : options_(std::move(options)),
      source_(std::move(source)),
      clock_(clock),
      store_(options_.indexes),
      reflector_({.kind = options_.kind, .failures = options_.failures}, *source_, store_, listener(),
                 metrics.informer(options_.kind), clock, random) {}

Informer::~Informer() = default;

ReflectorListener Informer::listener() {
  return {.on_change =
              [this](const Change& change) {
                for (const ChangeHandler& handler : change_handlers_) handler(change);
              },
          .on_synced =
              [this] {
                const std::scoped_lock lock(mutex_);
                progressed_.notify_all();
              },
          .on_served =
              [this](bool served) {
                for (const ServedHandler& handler : served_handlers_) handler(served);
              }};
}

void Informer::on_change(ChangeHandler handler) {
  if (thread_.joinable()) throw std::logic_error("a handler was added to an informer that has started");
  change_handlers_.push_back(std::move(handler));
}

void Informer::on_served(ServedHandler handler) {
  if (thread_.joinable()) throw std::logic_error("a handler was added to an informer that has started");
  served_handlers_.push_back(std::move(handler));
}

void Informer::start() {
  {
    const std::scoped_lock lock(mutex_);
    ended_ = false;
  }
  thread_ = std::jthread([this](std::stop_token stop) { run(stop); });
}

void Informer::run(std::stop_token stop) {
  pthread_setname_np(pthread_self(), "reflector");
  reflector_.run(stop);
  const std::scoped_lock lock(mutex_);
  ended_ = true;
  progressed_.notify_all();
}

void Informer::request_stop() {
  thread_.request_stop();
}

bool Informer::wait_stopped(TimePoint deadline) {
  std::unique_lock lock(mutex_);
  while (!ended_ && clock_.now() < deadline) clock_.wait_until(progressed_, lock, deadline, {});
  return ended_;
}

bool Informer::wait_for_sync(TimePoint deadline, std::stop_token stop) {
  std::unique_lock lock(mutex_);
  while (!has_synced() && !stop.stop_requested() && clock_.now() < deadline) {
    clock_.wait_until(progressed_, lock, deadline, stop);
  }
  return has_synced();
}

}  // namespace inference::runtime
