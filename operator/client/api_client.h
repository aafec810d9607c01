#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "operator/client/api_error.h"
#include "operator/client/client_config.h"
#include "operator/client/field_mask.h"
#include "operator/client/http_transport.h"
#include "operator/client/resource.h"
#include "operator/client/watch_event.h"

namespace inference::client {

class Credentials;
struct ApiRequest;

/// The server-side apply field manager of everything that we write.
inline constexpr std::string_view kFieldManager = "inference-operator";

enum class DryRun { kNo, kAll };
/// What the server does with fields it does not know: `?fieldValidation=`.
enum class FieldValidation { kIgnore, kWarn, kStrict };
/// Whether apply takes over fields that another manager owns, or fails with a conflict.
enum class Force { kNo, kYes };
enum class Propagation { kBackground, kForeground, kOrphan };

struct ListOptions {
  std::string ns = {};  // empty: all namespaces
  std::string label_selector = {};
  std::string field_selector = {};
  std::int64_t limit = 500;           // objects a page; 0: all at once
  std::string continue_token = {};    // from the page before
  std::string resource_version = {};  // "0": whatever the server's cache has; empty: the most recent
  FieldMask mask = {};                // what is kept of each object
};

struct ListPage {
  std::vector<Json> items = {};     // each with apiVersion and kind, filled in where the server leaves them out
  std::string continue_token = {};  // empty on the last page
  std::string resource_version = {};
};

struct WatchOptions {
  std::string ns = {};  // empty: all namespaces
  std::string label_selector = {};
  std::string field_selector = {};
  std::string resource_version = {};
  /// When the server shall end the stream; choose it at random so that watches do not all end at once (client-go: 5 to
  /// 10 minutes).
  std::chrono::seconds timeout{300};
  /// Give up when nothing came for this long. Bookmarks come about once a minute, so less than 60 s would cut healthy
  /// quiet streams.
  Duration idle_timeout = std::chrono::seconds{90};
  FieldMask mask = {};  // what is kept of each object
  bool bookmarks = true;
  bool send_initial_events = false;
};

struct WriteOptions {
  DryRun dry_run = DryRun::kNo;
  FieldValidation field_validation = FieldValidation::kStrict;
};

struct ApplyOptions {
  Force force = Force::kNo;
  DryRun dry_run = DryRun::kNo;
  FieldValidation field_validation = FieldValidation::kStrict;
  std::string field_manager{kFieldManager};
};

struct RemoveOptions {
  std::string uid = {};               // precondition, empty: none
  std::string resource_version = {};  // precondition, empty: none
  Propagation propagation = Propagation::kBackground;
  DryRun dry_run = DryRun::kNo;
};

/// Limits and hooks of a client.
struct ClientOptions {
  std::string user_agent = "inference-operator";
  /// Without any progress, a call (not a watch) fails after this.
  Duration idle_timeout = std::chrono::seconds{30};
  /// The longest a single attempt of a call may take in all.
  Duration total_timeout = std::chrono::seconds{60};
  /// How long one call may wait in all for Retry-After (429, 503); what would take longer is returned with retry_after
  /// set.
  Duration max_retry_wait = std::chrono::seconds{10};
  std::size_t max_response_bytes = std::size_t{64} * 1024 * 1024;
  /// Largest single watch event; etcd's objects are below 1.5 MiB, with managedFields doubled at worst.
  std::size_t max_event_bytes = std::size_t{8} * 1024 * 1024;
  /// Called once for each answer (code 0: none came), e.g. to count rest_client_requests_total. Must be thread-safe and
  /// cheap.
  std::function<void(std::string_view verb, int code)> observer = {};
  /// Asked before each request that would change something, every repetition included: when it is handed to the
  /// transport, and when its body is about to be sent. After a no the server gets no whole request and the call ends as
  /// cancelled. Empty: always yes. Must be thread-safe and cheap.
  std::function<bool()> may_write = {};
  /// The API server gives up a request that would change something when it is not done this long after its first line
  /// came (`?timeout=`): also one whose body this process sends late, because it was stopped halfway. None: the
  /// server's own limit, 60 s.
  std::optional<std::chrono::milliseconds> write_timeout = std::nullopt;
};

/// Talks to one API server as one user. Thread-safe and shared by all; holds no state between calls but connections and
/// cached credentials.
///
/// Every call blocks, is bounded in time and ends within milliseconds of a stop. 429 and 503 with Retry-After are
/// waited for and sent again (the server has not executed them) within ClientOptions::max_retry_wait, except for
/// create. A 401 with a token from a file or plugin reads it afresh and tries once more. Nothing else is retried: that
/// is the caller's decision.
class ApiClient {
 public:
  /// Reads certificates and connects lazily: an unreachable server is found by the first call, unusable configuration
  /// here.
  [[nodiscard]] static std::expected<std::unique_ptr<ApiClient>, ConfigError> make(const ClientConfig& config,
                                                                                   Clock& clock,
                                                                                   ClientOptions options = {});
  /// From parts, for tests. `credentials` may be null: nothing is sent. `path_prefix` is the path of the server's URL,
  /// without trailing slash.
  ApiClient(std::unique_ptr<HttpTransport> transport, std::shared_ptr<Credentials> credentials, Clock& clock,
            ClientOptions options, std::string path_prefix = {});
  ~ApiClient();

  [[nodiscard]] std::expected<Json, ApiError> get(const Resource& resource, const ObjectRef& ref, std::stop_token stop);
  [[nodiscard]] std::expected<ListPage, ApiError> list(const Resource& resource, const ListOptions& options,
                                                       std::stop_token stop);

  /// Delivers events on the calling thread until the stream ends. An error means that it never began (404: the kind is
  /// not served; 410: resource version too old, though the server mostly says this by a WatchError).
  [[nodiscard]] std::expected<WatchEnd, ApiError> watch(const Resource& resource, const WatchOptions& options,
                                                        const std::function<void(WatchEvent)>& on_event,
                                                        std::stop_token stop);

  /// Writes answer with the object as it is stored now, without metadata.managedFields.
  ///
  /// POST. With `metadata.generateName` this may create a second object when the answer to the first was lost; it is
  /// never sent twice by us.
  [[nodiscard]] std::expected<Json, ApiError> create(const Resource& resource, const Json& object,
                                                     const WriteOptions& options, std::stop_token stop);
  /// Server-side apply: `object` holds exactly the fields that we want to own, with apiVersion, kind and metadata.name.
  [[nodiscard]] std::expected<Json, ApiError> apply(const Resource& resource, const Json& object,
                                                    const ApplyOptions& options, std::stop_token stop);
  /// Makes this the whole status of the object that has this uid. 422 when it was deleted and made anew, and nothing is
  /// changed then: a JSON patch can tell, where server-side apply to a status ignores the uid (seen in
  /// Kubernetes 1.37).
  [[nodiscard]] std::expected<Json, ApiError> write_status(const Resource& resource, const ObjectRef& ref,
                                                           const std::string& uid, const Json& status,
                                                           std::stop_token stop);
  /// A JSON patch (RFC 6902). 422 when one of its `test` operations does not hold; nothing is changed then.
  [[nodiscard]] std::expected<Json, ApiError> json_patch(const Resource& resource, const ObjectRef& ref,
                                                         const Json& operations, std::stop_token stop);
  /// DELETE. Success means that the server accepted it; finalizers may keep the object for a while.
  [[nodiscard]] std::expected<void, ApiError> remove(const Resource& resource, const ObjectRef& ref,
                                                     const RemoveOptions& options, std::stop_token stop);
  /// GET of any path that answers JSON, e.g. discovery: /version, /apis, /apis/GROUP/VERSION. Not below the server
  /// URL's prefix twice.
  [[nodiscard]] std::expected<Json, ApiError> get_raw(std::string_view path, std::stop_token stop);

 private:
  /// Credentials, time limits and the client's own headers for one attempt.
  [[nodiscard]] std::expected<HttpRequest, ApiError> prepare(const ApiRequest& request, const std::stop_token& stop);
  /// Sends until there is an answer that need not be sent again for. `attempt` sends once.
  template <typename T, typename Attempt>
  [[nodiscard]] std::expected<T, ApiError> with_retries(const ApiRequest& request, const std::stop_token& stop,
                                                        Attempt attempt);
  /// The body of a 2xx answer.
  [[nodiscard]] std::expected<std::string, ApiError> call(const std::expected<ApiRequest, ApiError>& request,
                                                          const std::stop_token& stop);
  [[nodiscard]] std::expected<Json, ApiError> call_json(const std::expected<ApiRequest, ApiError>& request,
                                                        const std::stop_token& stop, const FieldMask& mask = {});

  std::unique_ptr<HttpTransport> transport_;
  std::shared_ptr<Credentials> credentials_;
  Clock& clock_;
  ClientOptions options_;
  std::string path_prefix_;
};

}  // namespace inference::client
