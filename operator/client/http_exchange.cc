#include "operator/client/http_exchange.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "operator/client/request_check.h"

namespace inference::client {

namespace {

std::optional<std::size_t> content_length(const Headers& headers) {
  const std::string_view value = find_header(headers, "Content-Length");
  std::size_t length = 0;
  if (std::from_chars(value.data(), value.data() + value.size(), length).ec != std::errc{}) return std::nullopt;
  return length;
}

HttpEnd too_large(std::size_t limit) {
  return {HttpEnd::Kind::kTooLarge, "the answer has more than " + std::to_string(limit) + " bytes"};
}

}  // namespace

/// What the sender does next: pass on a head or bytes, or return the end.
struct HttpExchange::Step {
  std::optional<Head> head = {};
  std::string bytes = {};
  std::function<void()> resume = {};
  std::optional<HttpEnd> end = {};
};

void HttpExchange::headers(int status, Headers headers) {
  const std::scoped_lock lock(mutex_);
  if (abandoned_) return;
  head_ = Head{status, std::move(headers)};
}

bool HttpExchange::bytes(std::string_view bytes, std::function<void()> resume) {
  const std::scoped_lock lock(mutex_);
  if (abandoned_) return true;
  pending_ += bytes;
  if (pending_.size() <= kPauseAbove) return true;
  resume_ = std::move(resume);
  return false;
}

void HttpExchange::announce() {
  changed_.notify_all();
}

void HttpExchange::end(HttpEnd end) {
  const std::scoped_lock lock(mutex_);
  if (abandoned_) return;
  end_ = std::move(end);
  changed_.notify_all();
}

void HttpExchange::abandon() {
  std::function<void()> resume = {};
  {
    const std::scoped_lock lock(mutex_);
    abandoned_ = true;
    pending_.clear();
    resume = std::exchange(resume_, nullptr);
  }
  if (resume) resume();
}

HttpExchange::Step HttpExchange::next_step(std::unique_lock<std::mutex>& lock, const Limits& limits,
                                           TimePoint last_progress, Clock& clock, const std::stop_token& stop) {
  for (;;) {
    // First, so that a stream which never pauses can be ended too.
    if (stop.stop_requested()) return {.end = HttpEnd{HttpEnd::Kind::kCancelled, "cancelled"}};
    const TimePoint now = clock.now();
    if (!end_ && limits.give_up_at && now >= *limits.give_up_at) {
      return {.end = HttpEnd{HttpEnd::Kind::kTotalTimeout, "the answer was not complete in time"}};
    }
    if (head_) {
      head_taken_ = true;
      return {.head = std::exchange(head_, std::nullopt)};
    }
    // A library may deliver bytes before it has said the headers; they wait. Bytes that came before an end are passed
    // on before it.
    if (head_taken_ && !pending_.empty()) {
      return {.bytes = std::exchange(pending_, {}), .resume = std::exchange(resume_, nullptr)};
    }
    if (end_) return {.end = *end_};
    const TimePoint idle_at = last_progress + limits.idle_timeout;
    if (now >= idle_at) {
      return {.end = HttpEnd{HttpEnd::Kind::kIdleTimeout, head_taken_ ? "the server fell silent" : "no answer came"}};
    }
    clock.wait_until(changed_, lock, limits.give_up_at ? std::min(idle_at, *limits.give_up_at) : idle_at, stop);
  }
}

HttpEnd HttpExchange::deliver(ResponseSink& sink, const Limits& limits, Clock& clock, const std::stop_token& stop) {
  // Also when the sink throws: the library must not wait for a sender that is gone.
  struct AbandonAtEnd {
    HttpExchange& exchange;
    ~AbandonAtEnd() { exchange.abandon(); }
  } const at_end{*this};

  std::size_t received = 0;
  TimePoint last_progress = clock.now();
  for (;;) {
    Step step;
    {
      std::unique_lock lock(mutex_);
      step = next_step(lock, limits, last_progress, clock, stop);
    }
    if (step.end) return std::move(*step.end);
    if (step.head) {
      sink.on_headers(step.head->status, step.head->headers);
      // What is announced as too large is not read at all.
      if (content_length(step.head->headers).value_or(0) > limits.max_bytes) return too_large(limits.max_bytes);
    }
    if (step.resume) step.resume();
    if (!step.bytes.empty()) {
      received += step.bytes.size();
      if (received > limits.max_bytes) return too_large(limits.max_bytes);
      if (sink.on_bytes(step.bytes) == ResponseSink::Next::kStop) {
        return {HttpEnd::Kind::kCancelled, "ended by the receiver"};
      }
    }
    // Time that the sink took is not the server's silence.
    last_progress = clock.now();
  }
}

}  // namespace inference::client
