#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace inference::client {

/// Why a call to the API server gave no result: what the server said, or how talking to it failed.
struct ApiError {
  enum class Kind {
    kStatus,       // the server answered with an error: code, reason and message are its own (metav1.Status)
    kConnect,      // no connection: refused, unreachable, name not found
    kTls,          // the server's certificate is not trusted or not for this name, or TLS failed otherwise
    kTimeout,      // nothing came for the idle time, or the whole call took too long; a write may have happened
    kCut,          // the connection broke before the answer was complete; a write may have happened
    kCancelled,    // the stop token, or ClientOptions::may_write said no: nothing was sent then
    kTooLarge,     // the answer exceeds the byte limit
    kMalformed,    // the answer is no JSON object of the expected form
    kCredentials,  // token, certificate or exec plugin not to be had; nothing was sent
    kBadRequest,   // refused before sending: a name or header that can't be sent safely
  };
  Kind kind = Kind::kStatus;
  int code = 0;              // HTTP status, 0 when there was none
  std::string reason = {};   // Status.reason ("NotFound", "Conflict" …), empty when there was none
  std::string message = {};  // for people; never contains credentials
  /// What the server asked to wait: the Retry-After header in seconds, else Status.details.retryAfterSeconds.
  std::optional<std::chrono::seconds> retry_after = std::nullopt;
  Json details = nullptr;  // Status.details: name, kind, causes[]{reason, field, message}

  [[nodiscard]] bool is_not_found() const { return code == 404; }
  [[nodiscard]] bool is_already_exists() const { return code == 409 && reason == "AlreadyExists"; }
  /// Another write came first, or a precondition (uid, resourceVersion) failed, or another field manager owns a field.
  [[nodiscard]] bool is_conflict() const { return code == 409 && reason != "AlreadyExists"; }
  /// The resource version or continue token is too old: list again.
  [[nodiscard]] bool is_gone() const { return code == 410; }
  [[nodiscard]] bool is_forbidden() const { return code == 403; }
  [[nodiscard]] bool is_unauthorized() const { return code == 401; }
  /// The object itself is refused (422): sending it again can't help.
  [[nodiscard]] bool is_invalid() const { return code == 422; }
  [[nodiscard]] bool is_too_many_requests() const { return code == 429; }
  [[nodiscard]] bool is_cancelled() const { return kind == Kind::kCancelled; }

  /// One line for logs and conditions: "404 NotFound: deployments.apps \"x\" not found", "connection cut: …".
  [[nodiscard]] std::string to_string() const;
};

/// The error that an answer of status `code` (>= 400, or a redirect) stands for. `body` should be a metav1.Status;
/// anything else becomes a short, printable part of the message. `retry_after_header` may be empty; only delay-seconds
/// are understood, as the API server sends them.
[[nodiscard]] ApiError error_from_response(int code, std::string_view body, std::string_view retry_after_header);

/// The same for the object of a watch's ERROR event, or any decoded metav1.Status.
[[nodiscard]] ApiError error_from_status(const Json& status);

}  // namespace inference::client
