#include "operator/client/client_config.h"

#include <cstdlib>
#include <filesystem>

#include "base/logging.h"
#include "operator/client/in_cluster.h"
#include "operator/client/kubeconfig.h"
#include "operator/client/server_url.h"

namespace inference::client {

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT: at start, before other threads
  return value == nullptr ? std::string() : std::string(value);
}

std::expected<ClientConfig, ConfigError> from_files(const std::string& list, const std::string& context) {
  auto files = read_kubeconfig_files(list);
  if (!files) return std::unexpected(std::move(files.error()));
  return parse_kubeconfig(*files, context);
}

void warn_of_risks(const ClientConfig& config) {
  const auto url = parse_server_url(config.server);
  if (!url) return;  // whoever makes a client of it says why
  if (config.insecure_skip_tls_verify) {
    log::warning("The API server's certificate is not verified, anyone can pose as it", {{"server", url->origin()}});
  }
  const bool has_token = !config.token.empty() || !config.token_file.empty() || config.exec;
  if (!url->is_tls() && has_token) {
    log::warning("The token is sent to the API server without encryption", {{"server", url->origin()}});
  }
}

std::expected<ClientConfig, ConfigError> find_config(const ConfigOptions& options) {
  if (!options.kubeconfig.empty()) return from_files(options.kubeconfig, options.context);
  if (const std::string list = variable("KUBECONFIG"); !list.empty()) return from_files(list, options.context);
  const std::string host = variable("KUBERNETES_SERVICE_HOST");
  if (options.context.empty() && !host.empty()) return in_cluster_config(host, variable("KUBERNETES_SERVICE_PORT"));
  const std::string home = variable("HOME");
  const std::string path = home + "/.kube/config";
  std::error_code ignored;
  if (home.empty() || !std::filesystem::exists(path, ignored)) {
    return std::unexpected(
        ConfigError{"no cluster is configured: no --kubeconfig, no KUBECONFIG, no service account and no " +
                    (home.empty() ? "home folder" : path)});
  }
  return from_files(path, options.context);
}

}  // namespace

std::expected<ClientConfig, ConfigError> load_config(const ConfigOptions& options) {
  auto config = find_config(options);
  if (config) warn_of_risks(*config);
  return config;
}

}  // namespace inference::client
