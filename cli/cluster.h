#pragma once

#include <expected>
#include <memory>
#include <string>

#include "base/clock.h"
#include "operator/client/api_client.h"

namespace inference::cli {

/// Which cluster is meant, by kubectl's own flags; empty members are not given.
struct ClusterOptions {
  std::string kubeconfig;  // else $KUBECONFIG, the pod's service account, ~/.kube/config
  std::string context;     // else the current one
  std::string ns;          // else the context's
};

/// A connection to the cluster, for commands that ask one. Calls are bounded in time by the client; Ctrl-C ends the
/// process.
class Cluster {
 public:
  /// Reads the configuration; connects with the first call. The error is one line.
  [[nodiscard]] static std::expected<std::unique_ptr<Cluster>, std::string> open(const ClusterOptions& options);

  [[nodiscard]] client::ApiClient& api() { return *api_; }
  /// The namespace that the command is about.
  [[nodiscard]] const std::string& ns() const { return ns_; }

 private:
  Cluster() = default;

  SystemClock clock_;
  std::unique_ptr<client::ApiClient> api_;
  std::string ns_;
};

}  // namespace inference::cli
