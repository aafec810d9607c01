#pragma once

#include <expected>
#include <memory>
#include <string>

#include "base/clock.h"
#include "operator/client/http_transport.h"

namespace inference::client {

/// The transport by libcurl (7.85 or later, built with OpenSSL): HTTP/1.1, one connection for each call in flight
/// (pooled) and one for each stream, all of them on one thread of its own. The error says what is wrong with the
/// options. `clock` must outlive the transport.
[[nodiscard]] std::expected<std::unique_ptr<HttpTransport>, std::string> make_curl_transport(TransportOptions options,
                                                                                             Clock& clock);

}  // namespace inference::client
