// A kubeconfig: what is taken can be used, what is refused is told on one line.

#include <tuple>

#include "base/fuzzing.h"
#include "operator/client/kubeconfig.h"
#include "operator/client/server_url.h"

namespace inference::client {
namespace {

bool same(const ClientConfig& a, const ClientConfig& b) {
  const auto plain = [](const ClientConfig& config) {
    return std::tuple{config.server,
                      config.certificate_authority.file,
                      config.certificate_authority.inline_pem.reveal(),
                      config.tls_server_name,
                      config.insecure_skip_tls_verify,
                      config.proxy_url,
                      config.client_certificate.file,
                      config.client_certificate.inline_pem.reveal(),
                      config.client_key.file,
                      config.client_key.inline_pem.reveal(),
                      config.token.reveal(),
                      config.token_file,
                      config.exec.has_value() ? config.exec->command : "",
                      config.exec.has_value() ? config.exec->args : std::vector<std::string>{},
                      config.default_namespace};
  };
  return plain(a) == plain(b);
}

void check_file(const std::string& file) {
  if (!file.empty() && !file.starts_with('/')) broken("files are absolute", file);
}

void check_config(const ClientConfig& config) {
  const auto url = parse_server_url(config.server);
  if (!url) broken("the server is a URL", config.server);
  if (url->is_tls() && config.certificate_authority.empty() && !config.insecure_skip_tls_verify)
    broken("TLS trusts something", config.server);
  if (config.insecure_skip_tls_verify && !config.certificate_authority.empty()) broken("no authority that is not used");
  if (config.client_certificate.empty() != config.client_key.empty()) broken("certificate and key go together");
  if (config.exec && (config.exec->command.empty() || !config.client_certificate.empty()))
    broken("a plugin is a command, and alone");
  if (!config.proxy_url.empty() && !parse_server_url(config.proxy_url)) broken("the proxy is a URL", config.proxy_url);
  if (config.default_namespace.empty()) broken("there is a namespace");
  for (const std::string& file :
       {config.certificate_authority.file, config.client_certificate.file, config.client_key.file, config.token_file}) {
    check_file(file);
  }
}

void check(std::string_view text) {
  const KubeconfigFile file{.path = "/home/user/.kube/config", .text = std::string(text)};
  const auto config = parse_kubeconfig({file});
  const auto doubled = parse_kubeconfig({file, file});
  if (config.has_value() != doubled.has_value()) broken("a file merged with itself is itself");
  if (!config) {
    if (config.error().message.empty()) broken("an error says what is wrong");
    if (config.error().message.find('\n') != std::string::npos) broken("an error is one line", config.error().message);
    return;
  }
  if (!same(*config, *doubled)) broken("a file merged with itself is itself");
  check_config(*config);
}

}  // namespace
}  // namespace inference::client

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  inference::client::check(inference::fuzz_text(data, size));
  return 0;
}
