#include "operator/client/testing/test_certificates.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <cstdlib>
#include <memory>

#include "operator/client/openssl_pointers.h"

namespace inference::client {

using namespace openssl;

namespace {

void require(bool ok) {
  if (!ok) std::abort();
}

std::string to_text(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

std::string to_pem(X509* certificate) {
  const Bio bio(BIO_new(BIO_s_mem()));
  require(PEM_write_bio_X509(bio.get(), certificate) == 1);
  return to_text(bio.get());
}

std::string to_pem(EVP_PKEY* key) {
  const Bio bio(BIO_new(BIO_s_mem()));
  require(PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1);
  return to_text(bio.get());
}

void add_extension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  require(extension != nullptr);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

void add_name(X509_NAME* name, const char* field, const std::string& value) {
  X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(value.c_str()), -1, -1,
                             0);
}

Certificate make_certificate(const TestSubject& subject, EVP_PKEY* key, X509* issuer) {
  Certificate certificate(X509_new());
  X509_set_version(certificate.get(), X509_VERSION_3);
  unsigned char serial[8] = {};
  require(RAND_bytes(serial, sizeof(serial)) == 1);
  serial[0] &= 0x7FU;
  BIGNUM* number = BN_bin2bn(serial, sizeof(serial), nullptr);
  BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate.get()));
  BN_free(number);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), static_cast<long>(subject.lifetime.count()));
  X509_set_pubkey(certificate.get(), key);
  X509_NAME* name = X509_get_subject_name(certificate.get());
  for (const std::string& organization : subject.organizations) add_name(name, "O", organization);
  add_name(name, "CN", subject.common_name);
  X509_set_issuer_name(certificate.get(), issuer == nullptr ? name : X509_get_subject_name(issuer));
  return certificate;
}

Certificate parse_certificate(const std::string& pem) {
  const Bio bio = read_from(pem);
  return Certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
}

Key parse_key(const std::string& pem) {
  const Bio bio = read_from(pem);
  return Key(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
}

}  // namespace

TestAuthority::TestAuthority(const std::string& common_name) {
  const Key key(EVP_EC_gen("P-256"));
  const Certificate certificate = make_certificate({.common_name = common_name}, key.get(), nullptr);
  add_extension(certificate.get(), certificate.get(), NID_basic_constraints, "critical,CA:TRUE");
  add_extension(certificate.get(), certificate.get(), NID_key_usage, "critical,keyCertSign,cRLSign");
  require(X509_sign(certificate.get(), key.get(), EVP_sha256()) > 0);
  self_ = {to_pem(certificate.get()), to_pem(key.get())};
}

TestCertificate TestAuthority::issue(const TestSubject& subject) const {
  const Certificate issuer = parse_certificate(self_.certificate_pem);
  const Key issuer_key = parse_key(self_.key_pem);
  const Key key(EVP_EC_gen("P-256"));
  const Certificate certificate = make_certificate(subject, key.get(), issuer.get());
  std::string names;
  for (const std::string& name : subject.dns_names) names += (names.empty() ? "DNS:" : ",DNS:") + name;
  for (const std::string& address : subject.ip_addresses) names += (names.empty() ? "IP:" : ",IP:") + address;
  if (!names.empty()) add_extension(certificate.get(), issuer.get(), NID_subject_alt_name, names);
  require(X509_sign(certificate.get(), issuer_key.get(), EVP_sha256()) > 0);
  return {to_pem(certificate.get()), to_pem(key.get())};
}

TestCertificate TestAuthority::issue_for_loopback() const {
  return issue({.common_name = "loopback", .dns_names = {"localhost"}, .ip_addresses = {"127.0.0.1"}});
}

}  // namespace inference::client
