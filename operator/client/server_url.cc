#include "operator/client/server_url.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/parse_integer.h"

namespace inference::client {

namespace {

std::expected<int, std::string> parse_port(std::string_view text) {
  const auto port = parse_integer<int>(text);
  if (!port || *port < 1 || *port > 65535) return std::unexpected("the port is no number from 1 to 65535");
  return *port;
}

}  // namespace

std::string ServerUrl::origin() const {
  const bool bracketed = host.find(':') != std::string::npos;
  return scheme + "://" + (bracketed ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::expected<ServerUrl, std::string> parse_server_url(std::string_view text) {
  const std::size_t colon = text.find("://");
  if (colon == std::string_view::npos) return std::unexpected("the URL has no scheme (https://…)");
  ServerUrl url{.scheme = std::string(text.substr(0, colon))};
  std::ranges::transform(url.scheme, url.scheme.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (url.scheme != "https" && url.scheme != "http")
    return std::unexpected("the URL's scheme is neither https nor http");
  url.port = url.is_tls() ? 443 : 80;

  std::string_view rest = text.substr(colon + 3);
  for (const char c : rest) {
    if (c <= 0x20 || c >= 0x7F) return std::unexpected("the URL holds a character that can't be part of one");
  }
  if (rest.find_first_of("?#") != std::string_view::npos) return std::unexpected("the URL has a query or fragment");
  const std::size_t slash = rest.find('/');
  if (slash != std::string_view::npos) {
    url.path = rest.substr(slash);
    rest = rest.substr(0, slash);
    while (!url.path.empty() && url.path.back() == '/') url.path.pop_back();
  }
  if (rest.find('@') != std::string_view::npos) return std::unexpected("the URL has a user name");

  std::string_view port;
  if (!rest.empty() && rest.front() == '[') {
    const std::size_t bracket = rest.find(']');
    if (bracket == std::string_view::npos) return std::unexpected("the URL has an unclosed '['");
    url.host = rest.substr(1, bracket - 1);
    port = rest.substr(bracket + 1);
    if (!port.empty() && port.front() != ':') return std::unexpected("the URL has something between ']' and the port");
  } else {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    url.host = rest.substr(0, end);
    port = rest.substr(end);
  }
  if (url.host.empty()) return std::unexpected("the URL has no host");
  if (!port.empty()) {
    auto number = parse_port(port.substr(1));
    if (!number) return std::unexpected(std::move(number.error()));
    url.port = *number;
  }
  return url;
}

bool is_ip_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> address{};
  return inet_pton(AF_INET, host.c_str(), address.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), address.data()) == 1;
}

}  // namespace inference::client
