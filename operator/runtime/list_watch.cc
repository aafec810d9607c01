#include "operator/runtime/list_watch.h"

namespace inference::runtime {

ApiListWatch::ApiListWatch(client::ApiClient& api, client::Resource resource, Selection selection)
    : api_(api), resource_(std::move(resource)), selection_(std::move(selection)) {}

std::expected<client::ListPage, client::ApiError> ApiListWatch::list(const std::string& continue_token,
                                                                     std::stop_token stop) {
  client::ListOptions options;
  options.ns = selection_.ns;
  options.label_selector = selection_.label_selector;
  options.continue_token = continue_token;
  options.mask = selection_.mask;
  return api_.list(resource_, options, stop);
}

client::WatchOptions ApiListWatch::watch_options(std::chrono::seconds timeout) const {
  client::WatchOptions options;
  options.ns = selection_.ns;
  options.label_selector = selection_.label_selector;
  options.timeout = timeout;
  options.mask = selection_.mask;
  return options;
}

std::expected<client::WatchEnd, client::ApiError> ApiListWatch::stream(
    std::chrono::seconds timeout, const std::function<void(client::WatchEvent)>& on_event, std::stop_token stop) {
  client::WatchOptions options = watch_options(timeout);
  options.send_initial_events = true;
  return api_.watch(resource_, options, on_event, stop);
}

std::expected<client::WatchEnd, client::ApiError> ApiListWatch::watch(
    const std::string& resource_version, std::chrono::seconds timeout,
    const std::function<void(client::WatchEvent)>& on_event, std::stop_token stop) {
  client::WatchOptions options = watch_options(timeout);
  options.resource_version = resource_version;
  return api_.watch(resource_, options, on_event, stop);
}

}  // namespace inference::runtime
