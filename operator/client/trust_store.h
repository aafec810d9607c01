#pragma once

#include <optional>
#include <string>

namespace inference::client {

/// Makes OpenSSL's default trust store empty for this process, by SSL_CERT_FILE. cpprestsdk loads the default store for
/// each connection before we replace it: parsing Debian's bundle costs 22 ms of CPU each time, for nothing. Call before
/// any other thread runs that reads the environment; later calls do nothing.
void empty_default_trust_store();

/// The value that SSL_CERT_FILE had before, for programs that we start: they may well need the system's store. Empty
/// when it was unset.
[[nodiscard]] std::optional<std::string> original_ssl_cert_file();

}  // namespace inference::client
