#pragma once

#include <cstdint>
#include <string>

namespace inference::e2e {

/// The proxy of e2e/faults/proxy as a process of its own, before the cluster that the environment names. Whoever trusts
/// the API server trusts it.
class FaultProxy {
 public:
  /// `log_file` gets a line for each fault. `server` is the API server's URL, `pki` the folder of its certificate.
  FaultProxy(const std::string& server, const std::string& pki, const std::string& log_file, std::uint64_t seed);
  ~FaultProxy();
  FaultProxy(const FaultProxy&) = delete;
  FaultProxy& operator=(const FaultProxy&) = delete;

  /// Empty when it did not start.
  [[nodiscard]] const std::string& url() const { return url_; }
  /// Faults so far.
  [[nodiscard]] int count() const;
  /// No more faults from now on. Streams that are frozen stay so.
  void calm() const;

 private:
  std::string log_file_;
  std::string url_;
  int pid_ = -1;
};

}  // namespace inference::e2e
