#include "operator/client/transport_tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <string_view>
#include <utility>

#include "operator/client/openssl_pointers.h"
#include "operator/client/server_url.h"

namespace inference::client {

using namespace openssl;

namespace {

// Instead of OpenSSL's default, which asks for the pass phrase on the terminal.
int no_pass_phrase(char*, int, int, void*) {
  return 0;
}

Certificate next_certificate(BIO* bio) {
  return Certificate(PEM_read_bio_X509(bio, nullptr, no_pass_phrase, nullptr));
}

std::expected<void, std::string> trust_only(SSL_CTX* context, std::string_view ca_pem) {
  Store store(X509_STORE_new());
  const Bio bio = read_from(ca_pem);
  std::size_t count = 0;
  while (const Certificate ca = next_certificate(bio.get())) {
    X509_STORE_add_cert(store.get(), ca.get());
    ++count;
  }
  ERR_clear_error();
  if (count == 0) return std::unexpected("the certificate authority holds no PEM certificate");
  // As Go does: any given certificate is a trust anchor, also an intermediate or a self-signed server certificate.
  X509_STORE_set_flags(store.get(), X509_V_FLAG_PARTIAL_CHAIN);
  SSL_CTX_set_cert_store(context, store.release());
  return {};
}

std::expected<void, std::string> present_certificate(SSL_CTX* context, std::string_view certificate_pem,
                                                     std::string_view key_pem) {
  const Bio bio = read_from(certificate_pem);
  const Certificate leaf = next_certificate(bio.get());
  if (!leaf || SSL_CTX_use_certificate(context, leaf.get()) != 1) {
    ERR_clear_error();
    return std::unexpected("the client certificate holds no PEM certificate");
  }
  while (const Certificate issuer = next_certificate(bio.get())) SSL_CTX_add1_chain_cert(context, issuer.get());
  const Bio key_bio = read_from(key_pem);
  const Key key(PEM_read_bio_PrivateKey(key_bio.get(), nullptr, no_pass_phrase, nullptr));
  const bool usable = key && SSL_CTX_use_PrivateKey(context, key.get()) == 1;
  ERR_clear_error();
  if (!key) return std::unexpected("the client key holds no PEM private key without pass phrase");
  if (!usable) return std::unexpected("the client key does not belong to the client certificate");
  return {};
}

void require_name(SSL_CTX* context, const std::string& name) {
  X509_VERIFY_PARAM* param = SSL_CTX_get0_param(context);
  X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  if (is_ip_address(name)) {
    X509_VERIFY_PARAM_set1_ip_asc(param, name.c_str());
  } else {
    X509_VERIFY_PARAM_set1_host(param, name.c_str(), name.size());
  }
}

// The context keeps the outcome alive: a pooled connection may outlive whoever made it.
void free_outcome(void*, void* outcome, CRYPTO_EX_DATA*, int, long, void*) {
  delete static_cast<std::shared_ptr<VerifyOutcome>*>(outcome);
}

int outcome_index() {
  static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, free_outcome);
  return index;
}

int verify_and_record(X509_STORE_CTX* verification, void* outcome) {
  const int result = X509_verify_cert(verification);
  static_cast<VerifyOutcome*>(outcome)->error = X509_STORE_CTX_get_error(verification);
  return result;
}

}  // namespace

std::expected<void, std::string> configure_tls(ssl_ctx_st* context, const TlsMaterial& material, const TlsPeer& peer,
                                               std::shared_ptr<VerifyOutcome> outcome) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  // libcurl writes every connection's secrets to the file that SSLKEYLOGFILE names.
  SSL_CTX_set_keylog_callback(context, nullptr);
  if (peer.verify == TransportOptions::Verify::kServer) {
    if (auto trusted = trust_only(context, material.ca_pem); !trusted) return trusted;
    require_name(context, peer.name);
    auto owned = std::make_unique<std::shared_ptr<VerifyOutcome>>(outcome);
    SSL_CTX_set_ex_data(context, outcome_index(), owned.release());
    SSL_CTX_set_cert_verify_callback(context, verify_and_record, outcome.get());
  }
  if (material.certificate_pem.empty()) return {};
  return present_certificate(context, material.certificate_pem, material.key_pem.reveal());
}

std::expected<void, std::string> check_tls_material(const TlsMaterial& material, TransportOptions::Verify verify) {
  const Context context(SSL_CTX_new(TLS_client_method()));
  if (!context) return std::unexpected("OpenSSL can't make a context");
  return configure_tls(context.get(), material, {.name = "localhost", .verify = verify},
                       std::make_shared<VerifyOutcome>());
}

bool same_material(const std::shared_ptr<const TlsMaterial>& a, const std::shared_ptr<const TlsMaterial>& b) {
  return a == b || (a && b && *a == *b);
}

std::string verify_error_text(int error) {
  return X509_verify_cert_error_string(error);
}

std::string tls_error_text(unsigned long code) {
  const char* reason = ERR_reason_error_string(code);
  return reason == nullptr ? "TLS error " + std::to_string(code) : reason;
}

}  // namespace inference::client
