#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "operator/client/client_config.h"

namespace inference::client {

/// One kubeconfig file's text and where it came from: relative paths inside it are resolved against its folder.
struct KubeconfigFile {
  std::string path;
  std::string text;
};

/// Merges the files as kubectl does (the first file that names a cluster, user, context or current-context wins;
/// entries are not mixed) and takes the named context, or the current one. Refuses what would be silently unsafe or
/// can't work here: impersonation, auth-provider, user name and password, an https or socks proxy, certificates beside
/// insecure-skip-tls-verify. Pure.
[[nodiscard]] std::expected<ClientConfig, ConfigError> parse_kubeconfig(const std::vector<KubeconfigFile>& files,
                                                                        std::string_view context = {});

/// Splits a $KUBECONFIG list at `:` and reads the files. Missing files are skipped as kubectl does, unless all are
/// missing.
[[nodiscard]] std::expected<std::vector<KubeconfigFile>, ConfigError> read_kubeconfig_files(std::string_view list);

}  // namespace inference::client
