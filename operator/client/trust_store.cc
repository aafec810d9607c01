#include "operator/client/trust_store.h"

#include <cstdlib>

namespace inference::client {

namespace {

constexpr const char* kVariable = "SSL_CERT_FILE";

std::optional<std::string> replace_variable() {
  const char* value = std::getenv(kVariable);  // NOLINT: before other threads, see the header
  std::optional<std::string> original = value == nullptr ? std::nullopt : std::optional<std::string>(value);
  ::setenv(kVariable, "/dev/null", /*overwrite=*/1);
  return original;
}

const std::optional<std::string>& original() {
  static const std::optional<std::string> value = replace_variable();
  return value;
}

}  // namespace

void empty_default_trust_store() {
  (void)original();
}

std::optional<std::string> original_ssl_cert_file() {
  return original();
}

}  // namespace inference::client
