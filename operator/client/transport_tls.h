#pragma once

#include <atomic>
#include <expected>
#include <memory>
#include <string>

#include "operator/client/http_transport.h"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX

namespace inference::client {

/// Why the last verification of a server's certificate failed: an X509_V_ERR_… value, X509_V_OK when it did not.
/// OpenSSL itself only says "certificate verify failed".
struct VerifyOutcome {
  std::atomic<int> error{0};
};

/// Who must be at the other end.
struct TlsPeer {
  std::string name = {};  // a DNS name or an IP address: must be among the certificate's subject alternative names
  TransportOptions::Verify verify = TransportOptions::Verify::kServer;
};

/// Sets up a fresh context: only `material`'s CAs are trusted (the context's store is REPLACED: adding to it would keep
/// the system's roots), TLS 1.2 or newer, the name is matched against the alternative names only (never the common
/// name, which RFC 9525 forbids and cpprestsdk's own check accepts). The error says which part of the material is
/// unusable.
[[nodiscard]] std::expected<void, std::string> configure_tls(ssl_ctx_st* context, const TlsMaterial& material,
                                                             const TlsPeer& peer,
                                                             std::shared_ptr<VerifyOutcome> outcome);

/// Whether configure_tls would accept the material.
[[nodiscard]] std::expected<void, std::string> check_tls_material(const TlsMaterial& material,
                                                                  TransportOptions::Verify verify);

/// Whether connections that were made with one may be used with the other. Null stands for no TLS.
[[nodiscard]] bool same_material(const std::shared_ptr<const TlsMaterial>& a,
                                 const std::shared_ptr<const TlsMaterial>& b);

/// For people: "hostname mismatch" for a verification error.
[[nodiscard]] std::string verify_error_text(int error);
/// For people: OpenSSL's text for an error code (ERR_get_error), without source file names.
[[nodiscard]] std::string tls_error_text(unsigned long code);

}  // namespace inference::client
