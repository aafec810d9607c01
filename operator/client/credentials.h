#pragma once

#include <condition_variable>
#include <expected>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "base/clock.h"
#include "operator/client/api_error.h"
#include "operator/client/client_config.h"
#include "operator/client/exec_plugin.h"
#include "operator/client/file_watch.h"
#include "operator/client/http_transport.h"

namespace inference::client {

/// What we show the API server, kept fresh: the token (given, from a file that the kubelet rotates, or from a plugin
/// until it expires) and the certificates (read again when their files change). Thread-safe; one plugin runs at a time,
/// whoever needs it waits.
class Credentials {
 public:
  Credentials(ClientConfig config, Clock& clock);

  /// The bearer token to send now, empty when there is none. May run the plugin, bounded by kPluginTimeout and `stop`.
  /// A token file that can't be read for a moment leaves the last token in use. Errors are of kind kCredentials or
  /// kCancelled.
  [[nodiscard]] std::expected<Secret, ApiError> token(std::stop_token stop);

  /// The server has answered 401 to `rejected`. Forgets it where a fresh one can be had; returns whether trying again
  /// makes sense.
  [[nodiscard]] bool refresh(const Secret& rejected);

  /// Certificates as they are now; the same pointer while nothing has changed. New files that can't be used (half
  /// written, key and certificate of different age) leave the last usable ones in place and are tried again later. Runs
  /// no plugin: token() does that before.
  [[nodiscard]] std::expected<std::shared_ptr<const TlsMaterial>, std::string> tls_material();

 private:
  [[nodiscard]] std::expected<Secret, ApiError> token_from_file();
  [[nodiscard]] std::expected<Secret, ApiError> token_from_plugin(const std::stop_token& stop);
  [[nodiscard]] bool plugin_is_fresh() const;  // with mutex_ held
  /// Empty when all is well, else where the unusable part comes from and what is wrong with it.
  [[nodiscard]] std::string check(const TlsMaterial& material, TransportOptions::Verify verify) const;

  const ClientConfig config_;
  Clock& clock_;

  std::mutex mutex_;
  std::condition_variable_any changed_;
  // All guarded by mutex_.
  std::optional<FileWatch> token_file_;
  Secret file_token_;                          // the last good one
  std::optional<ExecCredential> from_plugin_;  // may have expired or been refused
  bool plugin_runs_ = false;

  std::mutex tls_mutex_;
  // All guarded by tls_mutex_.
  std::optional<FileWatch> ca_file_;
  std::optional<FileWatch> certificate_file_;
  std::optional<FileWatch> key_file_;
  TlsMaterial refused_;                          // the last unusable candidate, so that it is logged once
  std::shared_ptr<const TlsMaterial> material_;  // the last usable one
};

}  // namespace inference::client
