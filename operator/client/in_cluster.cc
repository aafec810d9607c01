#include "operator/client/in_cluster.h"

#include "operator/client/file_watch.h"
#include "operator/client/server_url.h"

namespace inference::client {

std::expected<ClientConfig, ConfigError> in_cluster_config(std::string_view host, std::string_view port,
                                                           std::string_view folder) {
  if (host.empty() || port.empty()) {
    return std::unexpected(
        ConfigError{"not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set"});
  }
  const std::string address = host.find(':') == std::string_view::npos ? std::string(host) : "kubernetes.default.svc";
  ClientConfig config{.server = "https://" + address + ":" + std::string(port)};
  if (auto url = parse_server_url(config.server); !url) {
    return std::unexpected(ConfigError{"KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT: " + url.error()});
  }
  const std::string base(folder);
  config.certificate_authority.file = base + "/ca.crt";
  config.token_file = base + "/token";
  for (const std::string& path : {config.token_file, config.certificate_authority.file}) {
    if (const auto content = read_small_file(path); !content) {
      const std::string cause = content.error().message();
      return std::unexpected(ConfigError{path + ": " + cause + "; does the pod mount its service account?"});
    }
  }
  if (std::string ns = in_cluster_namespace(folder); !ns.empty()) config.default_namespace = std::move(ns);
  return config;
}

std::string in_cluster_namespace(std::string_view folder) {
  std::string ns = read_small_file(std::string(folder) + "/namespace").value_or("");
  while (!ns.empty() && (ns.back() == '\n' || ns.back() == ' ')) ns.pop_back();
  return ns;
}

}  // namespace inference::client
