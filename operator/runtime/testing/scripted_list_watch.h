#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "operator/runtime/list_watch.h"

namespace inference::runtime::testing {

/// An object of no kind, with what the runtime reads.
inline Json make_object(const std::string& name, const std::string& version) {
  return {{"metadata", {{"namespace", "default"}, {"name", name}, {"resourceVersion", version}}}};
}

inline client::ApiError status_error(int code) {
  client::ApiError error;
  error.code = code;
  error.message = "scripted";
  return error;
}

/// An API server of one kind that says what the test has written down, call by call. A call for which nothing is
/// written waits for it, or for its stop token: so once call n+1 has come, all that call n brought has been dealt with.
/// Thread-safe.
class ScriptedListWatch final : public ListWatch {
 public:
  using ListAnswer = std::expected<client::ListPage, client::ApiError>;
  /// Events, then the end of the stream; without an end it goes on with the next answer.
  struct WatchAnswer {
    std::vector<client::WatchEvent> events;
    std::optional<std::expected<client::WatchEnd, client::ApiError>> end;
  };

  void answer_list(ListAnswer answer) {
    const std::scoped_lock lock(mutex_);
    lists_.push_back(std::move(answer));
    changed_.notify_all();
  }
  void answer_watch(WatchAnswer answer) {
    const std::scoped_lock lock(mutex_);
    watches_.push_back(std::move(answer));
    changed_.notify_all();
  }

  /// "stream", "list TOKEN" and "watch VERSION", in order.
  [[nodiscard]] std::vector<std::string> calls() const {
    const std::scoped_lock lock(mutex_);
    return calls_;
  }
  /// Waits (in real time, at most a minute) until `count` calls have come.
  [[nodiscard]] bool wait_for_calls(std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds{60}, [&] { return calls_.size() >= count; });
  }

  [[nodiscard]] ListAnswer list(const std::string& continue_token, std::stop_token stop) override {
    std::unique_lock lock(mutex_);
    note_locked("list " + continue_token);
    if (!changed_.wait(lock, stop, [this] { return !lists_.empty(); })) return std::unexpected(cancelled());
    ListAnswer answer = std::move(lists_.front());
    lists_.pop_front();
    return answer;
  }

  /// Whether it has streamed lists; a call of one that has not is refused and not noted.
  void set_streams() {
    const std::scoped_lock lock(mutex_);
    streams_ = true;
  }

  [[nodiscard]] std::expected<client::WatchEnd, client::ApiError> stream(
      std::chrono::seconds, const std::function<void(client::WatchEvent)>& on_event, std::stop_token stop) override {
    std::unique_lock lock(mutex_);
    if (!streams_) return std::unexpected(status_error(422));
    return answer_locked(lock, "stream", on_event, stop);
  }

  [[nodiscard]] std::expected<client::WatchEnd, client::ApiError> watch(
      const std::string& resource_version, std::chrono::seconds,
      const std::function<void(client::WatchEvent)>& on_event, std::stop_token stop) override {
    std::unique_lock lock(mutex_);
    return answer_locked(lock, "watch " + resource_version, on_event, stop);
  }

 private:
  std::expected<client::WatchEnd, client::ApiError> answer_locked(
      std::unique_lock<std::mutex>& lock, std::string call, const std::function<void(client::WatchEvent)>& on_event,
      const std::stop_token& stop) {
    note_locked(std::move(call));
    while (changed_.wait(lock, stop, [this] { return !watches_.empty(); })) {
      WatchAnswer answer = std::move(watches_.front());
      watches_.pop_front();
      lock.unlock();
      for (client::WatchEvent& event : answer.events) on_event(std::move(event));
      if (answer.end.has_value()) return *answer.end;
      lock.lock();
    }
    return client::WatchEnd{.kind = client::WatchEnd::Kind::kCancelled, .detail = {}};
  }
  void note_locked(std::string call) {
    calls_.push_back(std::move(call));
    changed_.notify_all();
  }
  static client::ApiError cancelled() {
    client::ApiError error;
    error.kind = client::ApiError::Kind::kCancelled;
    return error;
  }

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<ListAnswer> lists_;  // guarded by mutex_, like the rest
  std::deque<WatchAnswer> watches_;
  std::vector<std::string> calls_;
  bool streams_ = false;
};

}  // namespace inference::runtime::testing
