#include "operator/client/request_check.h"

#include <algorithm>
#include <array>

namespace inference::client {

namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// RFC 9110, section 5.6.2.
bool is_token(std::string_view text) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z') || kOthers.find(c) != std::string_view::npos;
  });
}

// Printable ASCII, tabs and bytes above it; no CR, LF, NUL or other control characters (RFC 9110, section 5.5).
bool is_field_value(std::string_view text) {
  return std::ranges::all_of(text, [&](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte == '\t' || (byte >= 0x20 && byte != 0x7F);
  });
}

// Where the message begins and ends, and for whom it is, is the transport's to say.
bool is_reserved(std::string_view name) {
  constexpr std::array<std::string_view, 5> kReserved = {"Host", "Content-Length", "Transfer-Encoding", "Connection",
                                                         "Authorization"};
  return std::ranges::any_of(kReserved, [&](std::string_view reserved) { return same_header(name, reserved); });
}

}  // namespace

bool same_header(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view find_header(const Headers& headers, std::string_view name) {
  const auto it = std::ranges::find_if(headers, [&](const auto& header) { return same_header(header.first, name); });
  return it == headers.end() ? std::string_view() : std::string_view(it->second);
}

std::expected<void, std::string> check_request(const HttpRequest& request) {
  if (!is_token(request.method)) return std::unexpected("the method is no HTTP token");
  const bool plain = std::ranges::all_of(request.target, [](char c) { return c > 0x20 && c < 0x7F; });
  if (request.target.empty() || request.target.front() != '/' || !plain) {
    return std::unexpected("the request target is not percent-encoded");
  }
  for (const auto& [name, value] : request.headers) {
    if (!is_token(name)) return std::unexpected("a header's name is no HTTP token");
    if (is_reserved(name)) return std::unexpected("header " + name + " is set by the transport only");
    if (!is_field_value(value)) return std::unexpected("header " + name + " holds a control character");
  }
  const std::string_view bearer = request.bearer.reveal();
  if (!is_field_value(bearer) || bearer.find(' ') != std::string_view::npos) {
    return std::unexpected("the bearer token holds a control character or a space");
  }
  return {};
}

}  // namespace inference::client
