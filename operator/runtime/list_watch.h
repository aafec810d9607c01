#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "operator/client/api_client.h"

namespace inference::runtime {

/// The calls that a reflector makes: all it knows of the API server, so that tests script the protocol without
/// sockets.
class ListWatch {
 public:
  virtual ~ListWatch() = default;
  /// One page; an empty `continue_token` asks for the first. Blocks until answered, failed, or `stop`.
  [[nodiscard]] virtual std::expected<client::ListPage, client::ApiError> list(const std::string& continue_token,
                                                                               std::stop_token stop) = 0;
  /// The whole list, an `Added` each, closed by a bookmark with `initial_events_end`; then as `watch`.
  [[nodiscard]] virtual std::expected<client::WatchEnd, client::ApiError> stream(
      std::chrono::seconds timeout, const std::function<void(client::WatchEvent)>& on_event, std::stop_token stop) = 0;
  /// Everything since `resource_version`, each event handed to `on_event` on the calling thread, until the stream ends.
  /// The server is asked to end it after `timeout`.
  [[nodiscard]] virtual std::expected<client::WatchEnd, client::ApiError> watch(
      const std::string& resource_version, std::chrono::seconds timeout,
      const std::function<void(client::WatchEvent)>& on_event, std::stop_token stop) = 0;
};

/// Which objects of a kind are watched, and what of them. Empty means all.
struct Selection {
  std::string ns = {};
  std::string label_selector = {};
  std::string called = {};  // tells several informers of one kind apart, in logs and metrics
  /// managedFields is often half of an object and nobody here reads it.
  client::FieldMask mask = client::FieldMask::without({"metadata.managedFields"});
};

/// The real one, over an API client that outlives it. Bookmarks are asked for, so that a quiet kind's resourceVersion
/// stays fresh.
class ApiListWatch final : public ListWatch {
 public:
  ApiListWatch(client::ApiClient& api, client::Resource resource, Selection selection);
  [[nodiscard]] std::expected<client::ListPage, client::ApiError> list(const std::string& continue_token,
                                                                       std::stop_token stop) override;
  [[nodiscard]] std::expected<client::WatchEnd, client::ApiError> stream(
      std::chrono::seconds timeout, const std::function<void(client::WatchEvent)>& on_event,
      std::stop_token stop) override;
  [[nodiscard]] std::expected<client::WatchEnd, client::ApiError> watch(
      const std::string& resource_version, std::chrono::seconds timeout,
      const std::function<void(client::WatchEvent)>& on_event, std::stop_token stop) override;

 private:
  [[nodiscard]] client::WatchOptions watch_options(std::chrono::seconds timeout) const;

  client::ApiClient& api_;
  const client::Resource resource_;
  const Selection selection_;
};

}  // namespace inference::runtime
