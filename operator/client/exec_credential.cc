#include <charconv>

#include "operator/client/base64.h"
#include "operator/client/exec_plugin.h"

namespace inference::client {

namespace {

std::string string_at(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

/// Takes `width` digits from the front of `text`; -1 when they are not there.
int take_number(std::string_view& text, std::size_t width) {
  int value = 0;
  if (text.size() < width) return -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + width, value);
  if (error != std::errc{} || end != text.data() + width || value < 0) return -1;
  text.remove_prefix(width);
  return value;
}

bool take(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<std::chrono::minutes> take_offset(std::string_view& text) {
  if (take(text, "Zz")) return std::chrono::minutes{0};
  const bool west = !text.empty() && text.front() == '-';
  if (!take(text, "+-")) return std::nullopt;
  const int hours = take_number(text, 2);
  const bool colon = take(text, ":");
  const int minutes = take_number(text, 2);
  if (!colon || hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return std::nullopt;
  const auto offset = std::chrono::hours{hours} + std::chrono::minutes{minutes};
  return west ? -offset : offset;
}

}  // namespace

std::optional<WallTime> parse_rfc3339(std::string_view text) {
  using namespace std::chrono;
  const int y = take_number(text, 4);
  bool shaped = take(text, "-");
  const int m = take_number(text, 2);
  shaped = take(text, "-") && shaped;
  const int d = take_number(text, 2);
  shaped = take(text, "Tt ") && shaped;
  const int hour = take_number(text, 2);
  shaped = take(text, ":") && shaped;
  const int minute = take_number(text, 2);
  shaped = take(text, ":") && shaped;
  const int second = take_number(text, 2);
  if (!shaped || y < 0 || m < 0 || d < 0 || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 ||
      second > 60) {
    return std::nullopt;
  }
  if (take(text, ".")) {
    // Fractions do not matter for an expiry, but must be digits.
    if (take_number(text, 1) < 0) return std::nullopt;
    while (take_number(text, 1) >= 0) {
    }
  }
  const auto offset = take_offset(text);
  const year_month_day date{year{y}, month{static_cast<unsigned>(m)}, day{static_cast<unsigned>(d)}};
  if (!offset || !text.empty() || !date.ok()) return std::nullopt;
  return WallTime{sys_days{date}} + hours{hour} + minutes{minute} + seconds{second} - *offset;
}

std::expected<ExecCredential, std::string> parse_exec_credential(std::string_view output,
                                                                 std::string_view api_version) {
  const Json credential = Json::parse(output.begin(), output.end(), nullptr, /*allow_exceptions=*/false);
  if (!credential.is_object() || string_at(credential, "kind") != "ExecCredential") {
    return std::unexpected("printed no ExecCredential");
  }
  if (string_at(credential, "apiVersion") != api_version) {
    return std::unexpected("printed another apiVersion than the kubeconfig asks for (" + std::string(api_version) +
                           ")");
  }
  const auto status = credential.find("status");
  if (status == credential.end() || !status->is_object())
    return std::unexpected("printed an ExecCredential without status");
  ExecCredential result{.token = Secret(string_at(*status, "token")),
                        .certificate_pem = string_at(*status, "clientCertificateData"),
                        .key_pem = Secret(string_at(*status, "clientKeyData"))};
  if (result.certificate_pem.empty() != result.key_pem.empty()) {
    return std::unexpected("printed only one of clientCertificateData and clientKeyData");
  }
  if (result.token.empty() && result.certificate_pem.empty())
    return std::unexpected("printed neither token nor certificate");
  if (const auto expires = status->find("expirationTimestamp"); expires != status->end() && !expires->is_null()) {
    result.expires = expires->is_string() ? parse_rfc3339(expires->get_ref<const std::string&>()) : std::nullopt;
    if (!result.expires) return std::unexpected("printed an expirationTimestamp that is no RFC 3339 time");
  }
  return result;
}

Json exec_info(const ExecPlugin& plugin, const ClientConfig& config, std::string_view ca_pem) {
  Json info = {{"apiVersion", plugin.api_version}, {"kind", "ExecCredential"}, {"spec", {{"interactive", false}}}};
  if (!plugin.provide_cluster_info) return info;
  Json cluster = {{"server", config.server}, {"config", plugin.cluster_config}};
  if (!config.tls_server_name.empty()) cluster["tls-server-name"] = config.tls_server_name;
  if (config.insecure_skip_tls_verify) cluster["insecure-skip-tls-verify"] = true;
  if (!ca_pem.empty()) cluster["certificate-authority-data"] = encode_base64(ca_pem);
  if (!config.proxy_url.empty()) cluster["proxy-url"] = config.proxy_url;
  info["spec"]["cluster"] = std::move(cluster);
  return info;
}

}  // namespace inference::client
