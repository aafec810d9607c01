#pragma once

#include <expected>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "operator/client/secret.h"

namespace inference::client {

/// PEM text given inline, or the file that holds it. A file is read again when it changes, so certificates rotate
/// without a restart.
struct PemSource {
  Secret inline_pem = {};  // wins over the file when both are given, as in client-go
  std::string file = {};   // absolute
  [[nodiscard]] bool empty() const { return inline_pem.empty() && file.empty(); }
};

/// A program that prints credentials (KEP-541, client.authentication.k8s.io). Run without a shell.
struct ExecPlugin {
  std::string api_version = {};  // client.authentication.k8s.io/v1 or /v1beta1
  std::string command =
      {};  // looked up in PATH, or a path (relative ones are resolved against the kubeconfig's folder)
  std::vector<std::string> args = {};
  std::vector<std::pair<std::string, std::string>> env = {};  // added to our own environment
  std::string install_hint = {};                              // shown when the command is missing
  bool provide_cluster_info = false;
  Json cluster_config = nullptr;  // the cluster's extension client.authentication.k8s.io/exec, for the plugin
};

/// All that is needed to talk to one API server as one user. Plain data, made by the kubeconfig or in-cluster loader.
struct ClientConfig {
  std::string server = {};  // https://host[:port][/prefix]; http:// is allowed and gets no credentials check
  PemSource certificate_authority = {};  // empty: no server is trusted (the system's store never is)
  std::string tls_server_name = {};      // name to verify and to send as SNI instead of the URL's host
  /// kubeconfig's insecure-skip-tls-verify: anyone can pose as the server.
  bool insecure_skip_tls_verify = false;
  std::string proxy_url =
      {};  // http://host:port, spoken to with CONNECT; empty: direct (environment variables are not read)

  PemSource client_certificate = {};
  PemSource client_key = {};
  Secret token = {};
  std::string token_file = {};  // absolute; wins over `token`, as in client-go
  std::optional<ExecPlugin> exec = {};

  std::string default_namespace = "default";
};

/// Why no configuration could be made: file, path inside it, and cause, in one line; never contains credentials.
struct ConfigError {
  std::string message = {};
};

/// Where to look, in this order (that of controller-runtime): the given file, $KUBECONFIG, the pod's service account,
/// ~/.kube/config.
struct ConfigOptions {
  std::string kubeconfig = {};  // --kubeconfig, may be empty
  std::string context = {};     // --context, may be empty: the current one. Asking for one skips the service account
};
/// Logs a warning where the configuration lets others pose as the server or read the token. Called once by a program,
/// which may make several clients of the result.
[[nodiscard]] std::expected<ClientConfig, ConfigError> load_config(const ConfigOptions& options);

}  // namespace inference::client
