#pragma once

#include <expected>
#include <string>

#include "operator/client/http_transport.h"
#include "operator/client/server_url.h"

namespace inference::client {

/// Whether a transport can be made of the options; the server's URL if so, otherwise what is wrong with which option.
[[nodiscard]] std::expected<ServerUrl, std::string> check_transport_options(const TransportOptions& options);

/// Makes the kernel notice on a stream's socket that the peer is dead (power lost, network gone): within 15 + 3 × 5 s
/// while nothing is sent, within 30 s while something is.
void keep_alive(int socket);

}  // namespace inference::client
