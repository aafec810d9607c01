#include "cli/cluster.h"

#include <utility>

#include "base/version.h"
#include "operator/client/client_config.h"

namespace inference::cli {

std::expected<std::unique_ptr<Cluster>, std::string> Cluster::open(const ClusterOptions& options) {
  const auto config = client::load_config({.kubeconfig = options.kubeconfig, .context = options.context});
  if (!config) return std::unexpected(config.error().message);
  std::unique_ptr<Cluster> cluster(new Cluster);
  auto api =
      client::ApiClient::make(*config, cluster->clock_, {.user_agent = "kubectl-inference/" + std::string(version())});
  if (!api) return std::unexpected(api.error().message);
  cluster->api_ = std::move(*api);
  cluster->ns_ = options.ns.empty() ? config->default_namespace : options.ns;
  return cluster;
}

}  // namespace inference::cli
