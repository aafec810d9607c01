#include "operator/client/api_client.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/json_members.h"
#include "operator/client/api_request.h"
#include "operator/client/credentials.h"
#include "operator/client/http_transport.h"
#include "operator/client/request_check.h"
#include "operator/client/server_url.h"
#include "operator/client/watch_decoder.h"

namespace inference::client {

namespace {

// A Status is a few hundred bytes; what a proxy answers instead may be anything.
constexpr std::size_t kMaxErrorBytes = std::size_t{1024} * 1024;

ApiError error_from_end(const HttpEnd& end) {
  ApiError error{.message = end.detail};
  switch (end.kind) {
    case HttpEnd::Kind::kConnect:
      error.kind = ApiError::Kind::kConnect;
      break;
    case HttpEnd::Kind::kTls:
      error.kind = ApiError::Kind::kTls;
      break;
    case HttpEnd::Kind::kIdleTimeout:
    case HttpEnd::Kind::kTotalTimeout:
      error.kind = ApiError::Kind::kTimeout;
      break;
    case HttpEnd::Kind::kCut:
    case HttpEnd::Kind::kComplete:
      error.kind = ApiError::Kind::kCut;
      break;  // complete, but with no answer
    case HttpEnd::Kind::kCancelled:
      error.kind = ApiError::Kind::kCancelled;
      break;
    case HttpEnd::Kind::kTooLarge:
      error.kind = ApiError::Kind::kTooLarge;
      break;
    case HttpEnd::Kind::kRefused:
      error.kind = ApiError::Kind::kBadRequest;
      break;
  }
  return error;
}

ApiError malformed(std::string message) {
  return ApiError{.kind = ApiError::Kind::kMalformed, .message = std::move(message)};
}

bool is_success(int status) {
  return status >= 200 && status < 300;
}

/// Collects a whole answer.
class WholeSink final : public ResponseSink {
 public:
  void on_headers(int status, const Headers& headers) override {
    status_ = status;
    retry_after_ = find_header(headers, "Retry-After");
  }
  Next on_bytes(std::string_view bytes) override {
    body_ += bytes;
    return Next::kMore;
  }
  void on_end(const HttpEnd& end) override { end_ = end; }

  [[nodiscard]] int status() const { return status_; }
  [[nodiscard]] std::expected<std::string, ApiError> take() {
    if (end_.kind != HttpEnd::Kind::kComplete || status_ == 0) return std::unexpected(error_from_end(end_));
    if (is_success(status_)) return std::move(body_);
    if (status_ < 200)
      return std::unexpected(malformed("an interim answer (" + std::to_string(status_) + ") came as the last one"));
    return std::unexpected(error_from_response(status_, body_, retry_after_));
  }

 private:
  int status_ = 0;
  std::string retry_after_;
  std::string body_;
  HttpEnd end_;
};

/// Decodes a watch while it comes; an answer other than 200 is collected instead.
class WatchSink final : public ResponseSink {
 public:
  /// `on_status` is called when the stream begins, which may be long before it ends.
  WatchSink(WatchDecoder decoder, const std::function<void(WatchEvent)>& on_event, std::function<void(int)> on_status)
      : decoder_(std::move(decoder)), on_status_(std::move(on_status)) {
    pass_on_ = [this, &on_event](WatchEvent event) {
      // The stream is over after it, whatever the server still sends.
      if (failed_) return;
      failed_ = std::holds_alternative<WatchError>(event);
      on_event(std::move(event));
    };
  }
  void on_headers(int status, const Headers& headers) override {
    status_ = status;
    on_status_(status);
    retry_after_ = find_header(headers, "Retry-After");
  }
  Next on_bytes(std::string_view bytes) override {
    if (!is_success(status_)) {
      error_body_ += bytes.substr(0, kMaxErrorBytes - std::min(error_body_.size(), kMaxErrorBytes));
      return Next::kMore;
    }
    if (auto fed = decoder_.feed(bytes, pass_on_); !fed) fault_ = std::move(fed.error());
    return failed_ || !fault_.empty() ? Next::kStop : Next::kMore;
  }
  void on_end(const HttpEnd& end) override { end_ = end; }

  [[nodiscard]] int status() const { return status_; }
  [[nodiscard]] std::expected<WatchEnd, ApiError> take() {
    if (is_success(status_)) return end_of_stream();
    if (status_ == 0 || end_.kind == HttpEnd::Kind::kCancelled) return std::unexpected(error_from_end(end_));
    return std::unexpected(error_from_response(status_, error_body_, retry_after_));
  }

 private:
  WatchEnd end_of_stream() {
    if (failed_) return {WatchEnd::Kind::kError, "the server sent an error"};
    if (!fault_.empty()) return {WatchEnd::Kind::kMalformed, fault_};
    switch (end_.kind) {
      case HttpEnd::Kind::kComplete: {
        auto rest = decoder_.finish(pass_on_);
        if (!rest) return {WatchEnd::Kind::kMalformed, std::move(rest.error())};
        if (failed_) return {WatchEnd::Kind::kError, "the server sent an error"};
        return {WatchEnd::Kind::kComplete, {}};
      }
      case HttpEnd::Kind::kCancelled:
        return {WatchEnd::Kind::kCancelled, end_.detail};
      case HttpEnd::Kind::kIdleTimeout:
        return {WatchEnd::Kind::kIdleTimeout, end_.detail};
      case HttpEnd::Kind::kTotalTimeout:
        return {WatchEnd::Kind::kComplete, "the server did not end it in time"};
      default:
        return {WatchEnd::Kind::kCut, end_.detail};
    }
  }

  WatchDecoder decoder_;
  const std::function<void(int)> on_status_;
  std::function<void(WatchEvent)> pass_on_;
  int status_ = 0;
  std::string retry_after_;
  std::string error_body_;
  bool failed_ = false;  // a WatchError was passed on
  std::string fault_;
  HttpEnd end_;
};

/// Of what comes back from a write: the fields' managers are often half of it, and who has just written does not ask
/// for them.
const FieldMask& written_fields() {
  static const FieldMask mask = FieldMask::without({"metadata.managedFields"});
  return mask;
}

std::expected<ListPage, ApiError> to_page(Json list, const Resource& resource) {
  const auto items = list.find("items");
  const auto metadata = list.find("metadata");
  // An empty list has `items: []`, and in some versions of some servers null.
  if (items == list.end() || (!items->is_array() && !items->is_null()) || metadata == list.end() ||
      !metadata->is_object()) {
    return std::unexpected(malformed("the answer is no list"));
  }
  ListPage page{.continue_token = text_at(*metadata, "continue"),
                .resource_version = text_at(*metadata, "resourceVersion")};
  page.items.reserve(items->size());
  for (Json& item : *items) {
    if (!item.is_object()) return std::unexpected(malformed("an item of the list is no object"));
    // Lists of built-in kinds leave both out.
    if (!item.contains("apiVersion")) item["apiVersion"] = resource.api_version();
    if (!item.contains("kind")) item["kind"] = resource.kind;
    page.items.push_back(std::move(item));
  }
  return page;
}

}  // namespace

std::expected<std::unique_ptr<ApiClient>, ConfigError> ApiClient::make(const ClientConfig& config, Clock& clock,
                                                                       ClientOptions options) {
  auto url = parse_server_url(config.server);
  if (!url) return std::unexpected(ConfigError{"server: " + url.error()});
  auto credentials = std::make_shared<Credentials>(config, clock);
  if (url->is_tls()) {
    if (auto material = credentials->tls_material(); !material)
      return std::unexpected(ConfigError{std::move(material.error())});
  }
  auto transport = make_transport({.server = url->origin(),
                                   .tls_server_name = config.tls_server_name,
                                   .verify = config.insecure_skip_tls_verify ? TransportOptions::Verify::kNothing
                                                                             : TransportOptions::Verify::kServer,
                                   .proxy_url = config.proxy_url,
                                   .tls_material = [credentials] { return credentials->tls_material(); }},
                                  clock);
  if (!transport) return std::unexpected(ConfigError{std::move(transport.error())});
  return std::make_unique<ApiClient>(std::move(*transport), std::move(credentials), clock, std::move(options),
                                     url->path);
}

ApiClient::ApiClient(std::unique_ptr<HttpTransport> transport, std::shared_ptr<Credentials> credentials, Clock& clock,
                     ClientOptions options, std::string path_prefix)
    : transport_(std::move(transport)),
      credentials_(std::move(credentials)),
      clock_(clock),
      options_(std::move(options)),
      path_prefix_(std::move(path_prefix)) {}

ApiClient::~ApiClient() = default;

std::expected<HttpRequest, ApiError> ApiClient::prepare(const ApiRequest& request, const std::stop_token& stop) {
  HttpRequest http = request.http;
  http.target = path_prefix_ + http.target;
  if (http.method != "GET") http.may_send = options_.may_write;
  if (http.method != "GET" && options_.write_timeout) {
    http.target += http.target.find('?') == std::string::npos ? '?' : '&';
    http.target += "timeout=" + std::to_string(options_.write_timeout->count()) + "ms";
  }
  http.headers.emplace_back("User-Agent", options_.user_agent);
  http.headers.emplace_back("Accept", "application/json");
  if (http.use == HttpRequest::Use::kCall) {
    http.idle_timeout = options_.idle_timeout;
    http.total_timeout = options_.total_timeout;
    http.max_response_bytes = options_.max_response_bytes;
  }
  if (credentials_) {
    auto token = credentials_->token(stop);
    if (!token) return std::unexpected(std::move(token.error()));
    http.bearer = std::move(*token);
  }
  return http;
}

template <typename T, typename Attempt>
std::expected<T, ApiError> ApiClient::with_retries(const ApiRequest& request, const std::stop_token& stop,
                                                   Attempt attempt) {
  Duration waited{0};
  bool refreshed = false;
  for (;;) {
    auto http = prepare(request, stop);
    if (!http) return std::unexpected(std::move(http.error()));
    std::expected<T, ApiError> result = attempt(*http);
    if (result) return result;
    const ApiError& error = result.error();
    if (error.is_unauthorized() && credentials_ && !refreshed && credentials_->refresh(http->bearer)) {
      refreshed = true;
      continue;
    }
    // The server asks for it, and has not done anything yet. A create is the caller's to repeat.
    const bool asked_to_wait =
        (error.code == 429 || error.code == 503) && error.retry_after && request.verb != "create";
    if (!asked_to_wait || waited + *error.retry_after > options_.max_retry_wait) return result;
    waited += *error.retry_after;
    if (!sleep(clock_, *error.retry_after, stop)) {
      return std::unexpected(ApiError{.kind = ApiError::Kind::kCancelled, .message = "while waiting to send again"});
    }
  }
}

std::expected<std::string, ApiError> ApiClient::call(const std::expected<ApiRequest, ApiError>& request,
                                                     const std::stop_token& stop) {
  if (!request) return std::unexpected(request.error());
  return with_retries<std::string>(
      *request, stop, [&](const HttpRequest& http) -> std::expected<std::string, ApiError> {
        if (http.method != "GET" && options_.may_write && !options_.may_write()) {
          return std::unexpected(
              ApiError{.kind = ApiError::Kind::kCancelled, .message = "this process may not write now"});
        }
        WholeSink sink;
        transport_->send(http, sink, stop);
        if (options_.observer) options_.observer(request->verb, sink.status());
        return sink.take();
      });
}

std::expected<Json, ApiError> ApiClient::call_json(const std::expected<ApiRequest, ApiError>& request,
                                                   const std::stop_token& stop, const FieldMask& mask) {
  const auto body = call(request, stop);
  if (!body) return std::unexpected(body.error());
  auto object = mask.parse(*body, 0);
  if (!object || !object->is_object()) return std::unexpected(malformed("the answer is no JSON object"));
  return *std::move(object);
}

std::expected<Json, ApiError> ApiClient::get(const Resource& resource, const ObjectRef& ref, std::stop_token stop) {
  return call_json(make_get(resource, ref), stop);
}

std::expected<ListPage, ApiError> ApiClient::list(const Resource& resource, const ListOptions& options,
                                                  std::stop_token stop) {
  const auto body = call(make_list(resource, options), stop);
  if (!body) return std::unexpected(body.error());
  auto list = options.mask.parse(*body, 2);
  if (!list || !list->is_object()) return std::unexpected(malformed("the answer is no JSON object"));
  return to_page(std::move(*list), resource);
}

std::expected<WatchEnd, ApiError> ApiClient::watch(const Resource& resource, const WatchOptions& options,
                                                   const std::function<void(WatchEvent)>& on_event,
                                                   std::stop_token stop) {
  auto request = make_watch(resource, options);
  if (!request) return std::unexpected(std::move(request.error()));
  request->http.idle_timeout = options.idle_timeout;
  // The server ends it after options.timeout; one that does not is left after the time in which it should at least have
  // said something.
  request->http.total_timeout = Duration{options.timeout} + options.idle_timeout;
  request->http.max_response_bytes = std::numeric_limits<std::size_t>::max();  // events have a limit each
  const auto observe = [&](int status) {
    if (options_.observer) options_.observer(request->verb, status);
  };
  return with_retries<WatchEnd>(*request, stop, [&](const HttpRequest& http) {
    WatchSink sink(WatchDecoder(options_.max_event_bytes, options.mask), on_event, observe);
    transport_->send(http, sink, stop);
    if (sink.status() == 0) observe(0);
    return sink.take();
  });
}

std::expected<Json, ApiError> ApiClient::create(const Resource& resource, const Json& object,
                                                const WriteOptions& options, std::stop_token stop) {
  return call_json(make_create(resource, object, options), stop, written_fields());
}

std::expected<Json, ApiError> ApiClient::apply(const Resource& resource, const Json& object,
                                               const ApplyOptions& options, std::stop_token stop) {
  return call_json(make_apply(resource, object, options), stop, written_fields());
}

std::expected<Json, ApiError> ApiClient::write_status(const Resource& resource, const ObjectRef& ref,
                                                      const std::string& uid, const Json& status,
                                                      std::stop_token stop) {
  return call_json(make_write_status(resource, ref, uid, status), stop, written_fields());
}

std::expected<Json, ApiError> ApiClient::json_patch(const Resource& resource, const ObjectRef& ref,
                                                    const Json& operations, std::stop_token stop) {
  return call_json(make_json_patch(resource, ref, operations), stop);
}

std::expected<void, ApiError> ApiClient::remove(const Resource& resource, const ObjectRef& ref,
                                                const RemoveOptions& options, std::stop_token stop) {
  auto body = call(make_remove(resource, ref, options), stop);
  if (!body) return std::unexpected(std::move(body.error()));
  return {};
}

std::expected<Json, ApiError> ApiClient::get_raw(std::string_view path, std::stop_token stop) {
  return call_json(make_get_raw(path), stop);
}

}  // namespace inference::client
