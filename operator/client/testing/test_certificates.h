#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace inference::client {

/// A certificate and its private key as PEM.
struct TestCertificate {
  std::string certificate_pem;
  std::string key_pem;
};

/// What a certificate shall say.
struct TestSubject {
  std::string common_name = "test";
  std::vector<std::string> organizations = {};  // groups, to an API server
  std::vector<std::string> dns_names = {};
  std::vector<std::string> ip_addresses = {};
  std::chrono::seconds lifetime = std::chrono::hours{24};  // from now
};

/// A certificate authority made for one test (EC P-256, valid for a day). Aborts when OpenSSL fails.
class TestAuthority {
 public:
  explicit TestAuthority(const std::string& common_name = "test CA");
  /// One that is there already.
  explicit TestAuthority(TestCertificate self) : self_(std::move(self)) {}
  [[nodiscard]] const std::string& pem() const { return self_.certificate_pem; }
  [[nodiscard]] TestCertificate issue(const TestSubject& subject) const;
  /// A server certificate for 127.0.0.1 and `localhost`.
  [[nodiscard]] TestCertificate issue_for_loopback() const;

 private:
  TestCertificate self_;
};

}  // namespace inference::client
