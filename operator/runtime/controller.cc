#include "operator/runtime/controller.h"

#include <pthread.h>

#include <exception>

#include "base/logging.h"
#include "operator/client/error_class.h"

namespace inference::runtime {

ReconcileError ReconcileError::retry(const std::string& doing, const client::ApiError& error) {
  const client::ErrorClass found = client::classify(error);
  const bool asked_to_wait = found.remedy == client::ErrorClass::Remedy::kWait;
  return {.kind = Kind::kRetry,
          .message = doing + ": " + error.to_string(),
          .retry_after = asked_to_wait ? std::optional<Duration>(*found.retry_after) : std::nullopt};
}

Controller::Controller(ControllerOptions options, std::unique_ptr<Reconciler> reconciler, Metrics& metrics,
                       Clock& clock)
    : options_(std::move(options)),
      reconciler_(std::move(reconciler)),
      metrics_(metrics.controller(options_.name)),
      clock_(clock),
      queue_(clock, metrics.queue(options_.name), options_.limits) {}

Controller::~Controller() {
  request_stop();
}

void Controller::start() {
  const std::scoped_lock lock(mutex_);
  alive_ = options_.workers;
  for (std::size_t i = 0; i < options_.workers; ++i) {
    threads_.emplace_back([this](std::stop_token stop) { work(stop); });
  }
}

void Controller::request_stop() {
  queue_.shut_down();
  for (std::jthread& thread : threads_) thread.request_stop();
}

bool Controller::wait_stopped(TimePoint deadline) {
  std::unique_lock lock(mutex_);
  while (alive_ > 0 && clock_.now() < deadline) clock_.wait_until(worker_ended_, lock, deadline, {});
  return alive_ == 0;
}

std::size_t Controller::alive() const {
  const std::scoped_lock lock(mutex_);
  return alive_;
}

void Controller::work(std::stop_token stop) {
  pthread_setname_np(pthread_self(), "worker");
  while (const std::optional<client::ObjectRef> key = queue_.get(stop)) {
    reconcile_one(*key, stop);
    queue_.done(*key);
  }
  const std::scoped_lock lock(mutex_);
  --alive_;
  worker_ended_.notify_all();
}

void Controller::reconcile_one(const client::ObjectRef& key, std::stop_token stop) {
  const Request request{.ref = key, .id = options_.name + "-" + std::to_string(++reconciles_)};
  const TimePoint began = clock_.now();
  const auto outcome = call_reconciler(request, stop);
  // A reconcile that was cancelled has failed at nothing; the next start does the key again.
  if (stop.stop_requested() && !outcome.has_value()) return;
  settle(request, outcome, clock_.now() - began);
}

std::expected<Result, ReconcileError> Controller::call_reconciler(const Request& request, std::stop_token stop) {
  // The one place that catches everything: a defect met by one object must not stop the others.
  std::string what;
  try {
    return reconciler_->reconcile(request, stop);
  } catch (const std::exception& exception) {
    what = exception.what();
  } catch (...) {
    what = "not a std::exception";
  }
  metrics_.panicked();
  return std::unexpected(ReconcileError{
      .kind = ReconcileError::Kind::kRetry, .message = "reconcile threw: " + what, .retry_after = std::nullopt});
}

void Controller::settle(const Request& request, const std::expected<Result, ReconcileError>& outcome, Duration took) {
  if (outcome.has_value()) {
    queue_.forget(request.ref);
    const std::optional<Duration>& delay = outcome->delay();
    metrics_.reconciled(delay.has_value() ? ReconcileOutcome::kRequeueAfter : ReconcileOutcome::kSuccess, took);
    if (delay.has_value()) queue_.add_after(request.ref, *delay);
    return;
  }
  const ReconcileError& error = outcome.error();
  const bool terminal = error.kind == ReconcileError::Kind::kTerminal;
  metrics_.reconciled(terminal ? ReconcileOutcome::kTerminalError : ReconcileOutcome::kError, took);
  if (terminal) {
    queue_.forget(request.ref);
  } else if (error.retry_after.has_value()) {
    queue_.add_after(request.ref, *error.retry_after);
  } else {
    queue_.add_rate_limited(request.ref);
  }
  log::write(terminal ? log::Level::kError : log::Level::kWarning,
             terminal ? "reconcile failed, waiting for a change" : "reconcile failed, trying again",
             {{"controller", options_.name},
              {"object", request.ref.to_string()},
              {"reconcile_id", request.id},
              {"failures", std::to_string(queue_.failures(request.ref))},
              {"error", error.message}});
}

}  // namespace inference::runtime
