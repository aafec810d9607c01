#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "operator/client/http_transport.h"

namespace inference::client {

/// Whether a request can be put on the wire as it is. HTTP libraries may send a value with CR or LF as two headers, so
/// a token read from a file could add headers of its own. The error names the header and never repeats a value.
[[nodiscard]] std::expected<void, std::string> check_request(const HttpRequest& request);

/// ASCII case-insensitive, as header names are.
[[nodiscard]] bool same_header(std::string_view a, std::string_view b);

/// The first value of a header, empty when it is not there.
[[nodiscard]] std::string_view find_header(const Headers& headers, std::string_view name);

}  // namespace inference::client
