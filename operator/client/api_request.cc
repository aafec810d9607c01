#include "operator/client/api_request.h"

#include <utility>

#include "operator/client/percent_encoding.h"

namespace inference::client {

namespace {

// Content types of what we send: YAML is a superset of JSON, and apply has no JSON type.
constexpr std::string_view kJsonType = "application/json";
constexpr std::string_view kApplyType = "application/apply-patch+yaml";
constexpr std::string_view kJsonPatchType = "application/json-patch+json";

ApiError bad_request(std::string message) {
  return ApiError{.kind = ApiError::Kind::kBadRequest, .message = std::move(message)};
}

/// Appends `?a=b&c=d`; empty values are left out.
class Query {
 public:
  explicit Query(std::string path) : target_(std::move(path)) {}
  Query& add(std::string_view key, std::string_view value) {
    if (!value.empty()) {
      target_ += separator_;
      target_ += key;
      target_ += '=';
      target_ += percent_encode(value);
      separator_ = '&';
    }
    return *this;
  }
  [[nodiscard]] std::string take() { return std::move(target_); }

 private:
  std::string target_;
  char separator_ = '?';
};

std::string_view text(DryRun dry_run) {
  return dry_run == DryRun::kAll ? "All" : "";
}

std::string_view text(FieldValidation validation) {
  switch (validation) {
    case FieldValidation::kIgnore:
      return "Ignore";
    case FieldValidation::kWarn:
      return "Warn";
    case FieldValidation::kStrict:
      return "Strict";
  }
  return "Strict";
}

std::string_view text(Propagation propagation) {
  switch (propagation) {
    case Propagation::kBackground:
      return "Background";
    case Propagation::kForeground:
      return "Foreground";
    case Propagation::kOrphan:
      return "Orphan";
  }
  return "Background";
}

std::string_view string_at(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? std::string_view(it->get_ref<const std::string&>())
                                               : std::string_view();
}

/// Namespace and name of an object that is about to be written to `resource`.
std::expected<ObjectRef, ApiError> target_of(const Resource& resource, const Json& object) {
  if (!object.is_object() || string_at(object, "apiVersion") != resource.api_version() ||
      string_at(object, "kind") != resource.kind) {
    return std::unexpected(bad_request("the object is no " + resource.kind + " of " + resource.api_version()));
  }
  const auto metadata = object.find("metadata");
  if (metadata == object.end() || !metadata->is_object())
    return std::unexpected(bad_request("the object has no metadata"));
  return ObjectRef{std::string(string_at(*metadata, "namespace")), std::string(string_at(*metadata, "name"))};
}

std::expected<std::string, ApiError> to_body(const Json& object) {
  try {
    return object.dump();
  } catch (const Json::exception& e) {  // a string that is no UTF-8
    return std::unexpected(bad_request(std::string("the object is no valid JSON: ") + e.what()));
  }
}

std::expected<std::string, ApiError> path_of(const Resource& resource, const ObjectRef& ref,
                                             std::string_view subresource = {}) {
  auto path = resource_path(resource, ref, subresource);
  if (!path) return std::unexpected(bad_request(std::move(path.error())));
  return std::move(*path);
}

std::expected<std::string, ApiError> object_path_of(const Resource& resource, const ObjectRef& ref,
                                                    std::string_view subresource = {}) {
  if (ref.name.empty()) return std::unexpected(bad_request("a " + resource.kind + " without a name is meant"));
  return path_of(resource, ref, subresource);
}

ApiRequest read_request(std::string verb, std::string target) {
  return {std::move(verb),
          HttpRequest{.method = "GET", .target = std::move(target), .replay = HttpRequest::Replay::kIfHarmless}};
}

std::expected<ApiRequest, ApiError> make_patch(std::expected<std::string, ApiError> path, const Json& operations,
                                               HttpRequest::Replay replay) {
  if (!path) return std::unexpected(std::move(path.error()));
  auto body = to_body(operations);
  if (!body) return std::unexpected(std::move(body.error()));
  Query query(std::move(*path));
  query.add("fieldManager", kFieldManager).add("fieldValidation", text(FieldValidation::kStrict));
  return ApiRequest{"patch", HttpRequest{.method = "PATCH",
                                         .target = query.take(),
                                         .headers = {{"Content-Type", std::string(kJsonPatchType)}},
                                         .body = std::move(*body),
                                         .replay = replay}};
}

}  // namespace

std::expected<ApiRequest, ApiError> make_get(const Resource& resource, const ObjectRef& ref) {
  auto path = object_path_of(resource, ref);
  if (!path) return std::unexpected(std::move(path.error()));
  return read_request("get", std::move(*path));
}

std::expected<ApiRequest, ApiError> make_list(const Resource& resource, const ListOptions& options) {
  auto path = path_of(resource, {options.ns, {}});
  if (!path) return std::unexpected(std::move(path.error()));
  Query query(std::move(*path));
  query.add("labelSelector", options.label_selector).add("fieldSelector", options.field_selector);
  if (options.limit > 0) query.add("limit", std::to_string(options.limit));
  query.add("continue", options.continue_token);
  // A continue token has its resource version inside; the server refuses both.
  if (options.continue_token.empty()) query.add("resourceVersion", options.resource_version);
  return read_request("list", query.take());
}

std::expected<ApiRequest, ApiError> make_watch(const Resource& resource, const WatchOptions& options) {
  auto path = path_of(resource, {options.ns, {}});
  if (!path) return std::unexpected(std::move(path.error()));
  Query query(std::move(*path));
  query.add("watch", "true").add("labelSelector", options.label_selector).add("fieldSelector", options.field_selector);
  query.add("resourceVersion", options.resource_version).add("timeoutSeconds", std::to_string(options.timeout.count()));
  // KEP-3157: the initial list as events needs bookmarks (its end is one) and this way of matching versions.
  if (options.bookmarks || options.send_initial_events) query.add("allowWatchBookmarks", "true");
  if (options.send_initial_events) {
    query.add("sendInitialEvents", "true").add("resourceVersionMatch", "NotOlderThan");
  }
  ApiRequest request = read_request("watch", query.take());
  request.http.use = HttpRequest::Use::kStream;
  return request;
}

std::expected<ApiRequest, ApiError> make_create(const Resource& resource, const Json& object,
                                                const WriteOptions& options) {
  auto ref = target_of(resource, object);
  if (!ref) return std::unexpected(std::move(ref.error()));
  if (resource.namespaced && ref->ns.empty()) return std::unexpected(bad_request("the object has no namespace"));
  auto path = path_of(resource, {ref->ns, {}});
  if (!path) return std::unexpected(std::move(path.error()));
  auto body = to_body(object);
  if (!body) return std::unexpected(std::move(body.error()));
  Query query(std::move(*path));
  query.add("dryRun", text(options.dry_run)).add("fieldManager", kFieldManager);
  query.add("fieldValidation", text(options.field_validation));
  return ApiRequest{"create", HttpRequest{.method = "POST",
                                          .target = query.take(),
                                          .headers = {{"Content-Type", std::string(kJsonType)}},
                                          .body = std::move(*body),
                                          .replay = HttpRequest::Replay::kIfUndelivered}};
}

std::expected<ApiRequest, ApiError> make_apply(const Resource& resource, const Json& object,
                                               const ApplyOptions& options) {
  auto ref = target_of(resource, object);
  if (!ref) return std::unexpected(std::move(ref.error()));
  auto path = object_path_of(resource, *ref);
  if (!path) return std::unexpected(std::move(path.error()));
  auto body = to_body(object);
  if (!body) return std::unexpected(std::move(body.error()));
  Query query(std::move(*path));
  query.add("dryRun", text(options.dry_run)).add("fieldManager", options.field_manager);
  query.add("fieldValidation", text(options.field_validation));
  if (options.force == Force::kYes) query.add("force", "true");
  return ApiRequest{"patch", HttpRequest{.method = "PATCH",
                                         .target = query.take(),
                                         .headers = {{"Content-Type", std::string(kApplyType)}},
                                         .body = std::move(*body),
                                         .replay = HttpRequest::Replay::kIfHarmless}};
}

std::expected<ApiRequest, ApiError> make_json_patch(const Resource& resource, const ObjectRef& ref,
                                                    const Json& operations) {
  // What its `test` operations asked for need not hold any more at a second delivery.
  return make_patch(object_path_of(resource, ref), operations, HttpRequest::Replay::kIfUndelivered);
}

std::expected<ApiRequest, ApiError> make_write_status(const Resource& resource, const ObjectRef& ref,
                                                      const std::string& uid, const Json& status) {
  const Json operations = {{{"op", "test"}, {"path", "/metadata/uid"}, {"value", uid}},
                           {{"op", "add"}, {"path", "/status"}, {"value", status}}};
  return make_patch(object_path_of(resource, ref, "status"), operations, HttpRequest::Replay::kIfHarmless);
}

std::expected<ApiRequest, ApiError> make_remove(const Resource& resource, const ObjectRef& ref,
                                                const RemoveOptions& options) {
  auto path = object_path_of(resource, ref);
  if (!path) return std::unexpected(std::move(path.error()));
  Json body = {{"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"propagationPolicy", text(options.propagation)}};
  if (!options.uid.empty()) body["preconditions"]["uid"] = options.uid;
  if (!options.resource_version.empty()) body["preconditions"]["resourceVersion"] = options.resource_version;
  if (options.dry_run == DryRun::kAll) body["dryRun"] = Json::array({"All"});
  auto bytes = to_body(body);
  if (!bytes) return std::unexpected(std::move(bytes.error()));
  // Without a uid a second delivery could hit a new object of the same name.
  const auto replay = options.uid.empty() ? HttpRequest::Replay::kIfUndelivered : HttpRequest::Replay::kIfHarmless;
  return ApiRequest{"delete", HttpRequest{.method = "DELETE",
                                          .target = std::move(*path),
                                          .headers = {{"Content-Type", std::string(kJsonType)}},
                                          .body = std::move(*bytes),
                                          .replay = replay}};
}

std::expected<ApiRequest, ApiError> make_get_raw(std::string_view path) {
  // Anything else could end the request line or begin a header; the transport checks again.
  for (const char c : path) {
    if (c <= 0x20 || c >= 0x7F)
      return std::unexpected(bad_request("the path holds a character that must be percent-encoded"));
  }
  if (path.empty() || path.front() != '/') return std::unexpected(bad_request("the path does not begin with '/'"));
  return read_request("get", std::string(path));
}

}  // namespace inference::client
