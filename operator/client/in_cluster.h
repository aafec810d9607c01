#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "operator/client/client_config.h"

namespace inference::client {

/// Where the kubelet puts a pod's service account (token, ca.crt, namespace).
inline constexpr std::string_view kServiceAccountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";

/// The configuration of a pod: `host` and `port` are $KUBERNETES_SERVICE_HOST and _PORT. An IPv6 address is replaced by
/// `kubernetes.default.svc`, which the server's certificate names too: the HTTP library can't connect to IPv6 literals.
[[nodiscard]] std::expected<ClientConfig, ConfigError> in_cluster_config(
    std::string_view host, std::string_view port, std::string_view folder = kServiceAccountFolder);

/// The namespace of the pod that this process runs in; empty outside of one.
[[nodiscard]] std::string in_cluster_namespace(std::string_view folder = kServiceAccountFolder);

}  // namespace inference::client
