#include "base/json_members.h"
#include "operator/client/base64.h"
#include "operator/client/exec_plugin.h"

namespace inference::client {

std::expected<ExecCredential, std::string> parse_exec_credential(std::string_view output,
                                                                 std::string_view api_version) {
  const Json credential = Json::parse(output.begin(), output.end(), nullptr, /*allow_exceptions=*/false);
  if (!credential.is_object() || text_at(credential, "kind") != "ExecCredential") {
    return std::unexpected("printed no ExecCredential");
  }
  if (text_at(credential, "apiVersion") != api_version) {
    return std::unexpected("printed another apiVersion than the kubeconfig asks for (" + std::string(api_version) +
                           ")");
  }
  const auto status = credential.find("status");
  if (status == credential.end() || !status->is_object())
    return std::unexpected("printed an ExecCredential without status");
  ExecCredential result{.token = Secret(text_at(*status, "token")),
                        .certificate_pem = text_at(*status, "clientCertificateData"),
                        .key_pem = Secret(text_at(*status, "clientKeyData"))};
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
