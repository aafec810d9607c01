#pragma once

#include <expected>
#include <string>
#include <string_view>

namespace inference::client {

/// The parts of `https://host[:port][/path]`.
struct ServerUrl {
  std::string scheme = {};  // "http" or "https", lower case
  std::string host = {};    // a name or an IPv4 address; IPv6 literals without their brackets
  int port = 0;             // the scheme's default when none is given
  std::string path = {};    // without trailing slash; empty for the root

  [[nodiscard]] bool is_tls() const { return scheme == "https"; }
  /// `https://host:port`
  [[nodiscard]] std::string origin() const;
};

/// Refuses other schemes, user names, queries and fragments; the error says what is wrong but repeats no user name or
/// password.
[[nodiscard]] std::expected<ServerUrl, std::string> parse_server_url(std::string_view text);

/// Whether `host` is an IPv4 or IPv6 address rather than a name.
[[nodiscard]] bool is_ip_address(const std::string& host);

}  // namespace inference::client
