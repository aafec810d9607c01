#include "operator/client/credentials.h"

#include <algorithm>
#include <utility>

#include "base/logging.h"
#include "operator/client/transport_tls.h"

namespace inference::client {

namespace {

// A credential that expires within this is replaced before it is used: the request has to get there first.
constexpr std::chrono::seconds kExpiryMargin{10};

ApiError no_credentials(std::string message) {
  return ApiError{.kind = ApiError::Kind::kCredentials, .message = std::move(message)};
}

ApiError cancelled() {
  return ApiError{.kind = ApiError::Kind::kCancelled, .message = "while waiting for credentials"};
}

// Files of secrets mostly end with a newline, which may not be sent.
std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::optional<FileWatch> watch(const PemSource& source) {
  return source.inline_pem.empty() && !source.file.empty() ? std::optional<FileWatch>(source.file) : std::nullopt;
}

std::expected<std::string, std::string> read(const PemSource& source, std::optional<FileWatch>& file) {
  if (!file) return std::string(source.inline_pem.reveal());
  auto content = file->content();
  if (!content) return std::unexpected(std::move(content.error()));
  return std::string(*content);
}

/// Where a part of the material comes from, for errors.
std::string origin(const PemSource& source, std::string_view field) {
  return source.file.empty() || !source.inline_pem.empty() ? std::string(field) + "-data" : source.file;
}

}  // namespace

Credentials::Credentials(ClientConfig config, Clock& clock)
    : config_(std::move(config)),
      clock_(clock),
      token_file_(config_.token_file.empty() ? std::nullopt : std::optional<FileWatch>(config_.token_file)),
      ca_file_(watch(config_.certificate_authority)),
      certificate_file_(watch(config_.client_certificate)),
      key_file_(watch(config_.client_key)) {}

std::expected<Secret, ApiError> Credentials::token(std::stop_token stop) {
  if (token_file_) return token_from_file();
  if (!config_.token.empty() || !config_.exec) return Secret(std::string(trim(config_.token.reveal())));
  return token_from_plugin(stop);
}

std::expected<Secret, ApiError> Credentials::token_from_file() {
  const std::scoped_lock lock(mutex_);
  const auto content = token_file_->content();
  const std::string_view token = content ? trim(*content) : std::string_view();
  if (!token.empty()) {
    file_token_ = Secret(std::string(token));
  } else if (file_token_.empty()) {
    return std::unexpected(
        no_credentials(content ? config_.token_file + ": the token file is empty" : content.error()));
  }
  // Else the file is just being replaced: the last token is mostly still good, and a 401 would say so.
  return file_token_;
}

bool Credentials::plugin_is_fresh() const {
  return from_plugin_ && (!from_plugin_->expires || clock_.wall_now() + kExpiryMargin < *from_plugin_->expires);
}

std::expected<Secret, ApiError> Credentials::token_from_plugin(const std::stop_token& stop) {
  {
    std::unique_lock lock(mutex_);
    // Waiters re-check on every wake-up: the plugin's run is bounded, so this wait is too.
    const TimePoint give_up = clock_.now() + 2 * Duration{kPluginTimeout};
    while (plugin_runs_ && !plugin_is_fresh()) {
      if (stop.stop_requested()) return std::unexpected(cancelled());
      if (clock_.now() >= give_up) return std::unexpected(no_credentials("the credential plugin takes too long"));
      clock_.wait_until(changed_, lock, give_up, stop);
    }
    if (plugin_is_fresh()) return from_plugin_->token;
    plugin_runs_ = true;
  }
  std::string ca_pem;
  {
    const std::scoped_lock lock(tls_mutex_);
    ca_pem = read(config_.certificate_authority, ca_file_).value_or(std::string());
  }
  // No lock is held while the plugin runs.
  auto output = run_exec_plugin(*config_.exec, exec_info(*config_.exec, config_, ca_pem), kPluginTimeout, stop);
  std::expected<ExecCredential, std::string> credential = std::unexpected(std::string());
  if (output) credential = parse_exec_credential(*output, config_.exec->api_version);

  const std::scoped_lock lock(mutex_);
  plugin_runs_ = false;
  changed_.notify_all();
  if (!output && output.error().cancelled) return std::unexpected(cancelled());
  if (!output) return std::unexpected(no_credentials(std::move(output.error().message)));
  if (!credential)
    return std::unexpected(no_credentials("credential plugin " + config_.exec->command + " " + credential.error()));
  from_plugin_ = std::move(*credential);
  return from_plugin_->token;
}

bool Credentials::refresh(const Secret& rejected) {
  const std::scoped_lock lock(mutex_);
  if (token_file_) {
    // Only a token that differs from the refused one can do better. A rotation keeps size and, on coarse clocks, time:
    // read it anew.
    token_file_.emplace(config_.token_file);
    const auto content = token_file_->content();
    return content && !trim(*content).empty() && trim(*content) != rejected.reveal();
  }
  if (!config_.token.empty() || !config_.exec) return false;
  // Another thread may have refreshed it in the meantime. Its certificate stays until there is a new one: without any,
  // requests that are on their way now would be anonymous, and answered 403.
  if (from_plugin_ && from_plugin_->token == rejected) from_plugin_->expires = WallTime{};
  return true;
}

std::string Credentials::check(const TlsMaterial& material, TransportOptions::Verify verify) const {
  // The authority by itself first: what fails after it is the client's certificate or key.
  if (const auto trusted = check_tls_material({.ca_pem = material.ca_pem}, verify); !trusted)
    return origin(config_.certificate_authority, "certificate-authority") + ": " + trusted.error();
  const auto usable = check_tls_material(material, verify);
  if (usable) return {};
  if (config_.exec && config_.client_certificate.empty())
    return "credential plugin " + config_.exec->command + ": " + usable.error();
  return origin(config_.client_certificate, "client-certificate") + ", " + origin(config_.client_key, "client-key") +
         ": " + usable.error();
}

std::expected<std::shared_ptr<const TlsMaterial>, std::string> Credentials::tls_material() {
  TlsMaterial candidate;
  {
    const std::scoped_lock lock(mutex_);
    if (from_plugin_) {
      candidate.certificate_pem = from_plugin_->certificate_pem;
      candidate.key_pem = from_plugin_->key_pem;
    }
  }
  const std::scoped_lock lock(tls_mutex_);
  const auto verify =
      config_.insecure_skip_tls_verify ? TransportOptions::Verify::kNothing : TransportOptions::Verify::kServer;
  auto ca = read(config_.certificate_authority, ca_file_);
  auto certificate = read(config_.client_certificate, certificate_file_);
  auto key = read(config_.client_key, key_file_);
  std::string problem = !ca ? ca.error() : !certificate ? certificate.error() : !key ? key.error() : std::string();
  if (problem.empty()) {
    candidate.ca_pem = std::move(*ca);
    // A certificate of the plugin's wins over the user's own, which client-go refuses to combine at all.
    if (candidate.certificate_pem.empty()) {
      candidate.certificate_pem = std::move(*certificate);
      candidate.key_pem = Secret(std::move(*key));
    }
    if (material_ && *material_ == candidate) return material_;
    problem = check(candidate, verify);
    if (problem.empty()) {
      material_ = std::make_shared<const TlsMaterial>(std::move(candidate));
      return material_;
    }
  }
  if (!material_) return std::unexpected(std::move(problem));
  // Once for each state of the files, not once a request.
  if (!(refused_ == candidate)) {
    refused_ = std::move(candidate);
    log::warning("Changed certificates can't be used, keep the last ones", {{"cause", problem}});
  }
  return material_;
}

}  // namespace inference::client
