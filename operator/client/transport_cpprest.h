#pragma once

#include <expected>
#include <memory>
#include <string>

#include "base/clock.h"
#include "operator/client/http_transport.h"

namespace inference::client {

/// The transport by cpprestsdk: HTTP/1.1, one connection for each call in flight (pooled) and one for each stream. The
/// error says what is wrong with the options. `clock` must outlive the transport. Known limits of the library: IPv6
/// literals can't be connected to; headers, and a single chunk of a body, are read whole before any limit applies (so a
/// verified server is trusted not to send gigabytes).
[[nodiscard]] std::expected<std::unique_ptr<HttpTransport>, std::string> make_cpprest_transport(
    TransportOptions options, Clock& clock);

}  // namespace inference::client
