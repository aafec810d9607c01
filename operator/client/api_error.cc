#include "operator/client/api_error.h"

#include "base/json_members.h"
#include "base/parse_integer.h"

namespace inference::client {

namespace {

// A day: longer is no request to wait but a mistake, and would overflow arithmetic on durations.
constexpr long kMaxRetryAfterSeconds = 86'400;
constexpr std::size_t kMaxQuotedBody = 200;

std::optional<std::chrono::seconds> seconds_from(long value) {
  if (value <= 0 || value > kMaxRetryAfterSeconds) return std::nullopt;
  return std::chrono::seconds{value};
}

std::optional<std::chrono::seconds> parse_retry_after(std::string_view header) {
  const auto value = parse_integer<long>(header);
  return value ? seconds_from(*value) : std::nullopt;
}

// A body that is no Status (a proxy's HTML, a truncated text) is quoted in part, without what could upset a terminal or
// a log.
std::string quote_body(std::string_view body) {
  std::string text;
  for (const char c : body.substr(0, kMaxQuotedBody)) {
    const auto byte = static_cast<unsigned char>(c);
    text += byte < 0x20 || byte >= 0x7F ? ' ' : c;
  }
  if (body.size() > kMaxQuotedBody) text += "…";
  return text;
}

std::string_view kind_text(ApiError::Kind kind) {
  switch (kind) {
    case ApiError::Kind::kStatus:
      return "status";
    case ApiError::Kind::kConnect:
      return "cannot connect";
    case ApiError::Kind::kTls:
      return "TLS failed";
    case ApiError::Kind::kTimeout:
      return "timed out";
    case ApiError::Kind::kCut:
      return "connection cut";
    case ApiError::Kind::kCancelled:
      return "cancelled";
    case ApiError::Kind::kTooLarge:
      return "answer too large";
    case ApiError::Kind::kMalformed:
      return "answer not understood";
    case ApiError::Kind::kCredentials:
      return "no credentials";
    case ApiError::Kind::kBadRequest:
      return "request not sent";
  }
  return "unknown";
}

}  // namespace

std::string ApiError::to_string() const {
  std::string text;
  if (code != 0) text = std::to_string(code) + (reason.empty() ? "" : " " + reason);
  if (kind != Kind::kStatus) text += (text.empty() ? "" : " ") + std::string(kind_text(kind));
  if (text.empty()) text = reason.empty() ? "error" : reason;
  return message.empty() ? text : text + ": " + message;
}

ApiError error_from_status(const Json& status) {
  ApiError error;
  if (!status.is_object()) {
    error.message = "the server sent no Status";
    return error;
  }
  if (const auto code = status.find("code"); code != status.end() && code->is_number_integer()) {
    const auto value = code->get<std::int64_t>();
    if (value > 0 && value < 1000) error.code = static_cast<int>(value);
  }
  error.reason = text_at(status, "reason");
  error.message = text_at(status, "message");
  if (const auto details = status.find("details"); details != status.end() && details->is_object()) {
    error.details = *details;
    if (const auto seconds = details->find("retryAfterSeconds");
        seconds != details->end() && seconds->is_number_integer()) {
      const auto value = seconds->get<std::int64_t>();
      if (value <= kMaxRetryAfterSeconds) error.retry_after = seconds_from(static_cast<long>(value));
    }
  }
  return error;
}

ApiError error_from_response(int code, std::string_view body, std::string_view retry_after_header) {
  const Json status = Json::parse(body.begin(), body.end(), nullptr, /*allow_exceptions=*/false);
  const bool is_status = status.is_object() && text_at(status, "kind") == "Status";
  ApiError error = is_status ? error_from_status(status) : ApiError{.message = quote_body(body)};
  error.code = code;  // the status line wins: it is what proxies and the server's own filters set
  if (error.message.empty() && code >= 300 && code < 400) error.message = "redirects are not followed";
  if (const auto retry_after = parse_retry_after(retry_after_header)) error.retry_after = retry_after;
  return error;
}

}  // namespace inference::client
