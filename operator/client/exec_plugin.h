#pragma once

#include <expected>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/json.h"
#include "operator/client/client_config.h"

namespace inference::client {

/// Longest run of a credential plugin: it may have to ask a cloud for a token, but a call must not hang on it.
inline constexpr std::chrono::seconds kPluginTimeout{30};

/// What a plugin gave (ExecCredential.status): a token, a client certificate with its key, or both.
struct ExecCredential {
  Secret token = {};
  std::string certificate_pem = {};
  Secret key_pem = {};
  std::optional<WallTime> expires = std::nullopt;  // none: until the server refuses it
};

/// Reads a plugin's output. `api_version` is what the kubeconfig asks for and the output must say. Pure; errors never
/// contain the output.
[[nodiscard]] std::expected<ExecCredential, std::string> parse_exec_credential(std::string_view output,
                                                                               std::string_view api_version);

/// The object that a plugin finds in KUBERNETES_EXEC_INFO: never interactive, and the cluster when the kubeconfig says
/// so. `ca_pem` is the cluster's authority as it is now.
[[nodiscard]] Json exec_info(const ExecPlugin& plugin, const ClientConfig& config, std::string_view ca_pem);

/// Why a plugin gave nothing.
struct ExecError {
  bool cancelled = false;
  std::string message = {};  // with what the plugin wrote to standard error, shortened
};

/// Runs the plugin without a shell and returns its standard output. Standard input is empty. It and its children are
/// killed when `timeout` passes or `stop` is requested. The environment is ours with SSL_CERT_FILE as it was at the
/// start, the plugin's own variables, and KUBERNETES_EXEC_INFO.
[[nodiscard]] std::expected<std::string, ExecError> run_exec_plugin(const ExecPlugin& plugin, const Json& info,
                                                                    Duration timeout, std::stop_token stop);

}  // namespace inference::client
