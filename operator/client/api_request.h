#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "operator/client/api_client.h"

namespace inference::client {

/// A call before it is sent: the RBAC verb that it needs (get, list, watch, create, patch, delete) and the HTTP
/// request, without credentials, user agent and time limits, which are the client's. The functions below are pure;
/// their errors are of kind kBadRequest.
struct ApiRequest {
  std::string verb;
  HttpRequest http;
};

[[nodiscard]] std::expected<ApiRequest, ApiError> make_get(const Resource& resource, const ObjectRef& ref);
[[nodiscard]] std::expected<ApiRequest, ApiError> make_list(const Resource& resource, const ListOptions& options);
[[nodiscard]] std::expected<ApiRequest, ApiError> make_watch(const Resource& resource, const WatchOptions& options);
[[nodiscard]] std::expected<ApiRequest, ApiError> make_create(const Resource& resource, const Json& object,
                                                              const WriteOptions& options);
[[nodiscard]] std::expected<ApiRequest, ApiError> make_apply(const Resource& resource, const Json& object,
                                                             const ApplyOptions& options);
/// The status subresource of the object that has this uid.
[[nodiscard]] std::expected<ApiRequest, ApiError> make_write_status(const Resource& resource, const ObjectRef& ref,
                                                                    const std::string& uid, const Json& status);
/// `operations` is a JSON patch (RFC 6902).
[[nodiscard]] std::expected<ApiRequest, ApiError> make_json_patch(const Resource& resource, const ObjectRef& ref,
                                                                  const Json& operations);
[[nodiscard]] std::expected<ApiRequest, ApiError> make_remove(const Resource& resource, const ObjectRef& ref,
                                                              const RemoveOptions& options);
/// `path` must begin with `/` and hold only what may stand in a request line.
[[nodiscard]] std::expected<ApiRequest, ApiError> make_get_raw(std::string_view path);

}  // namespace inference::client
