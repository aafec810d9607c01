#pragma once

#include <string>
#include <vector>

namespace inference::e2e {

/// A control plane of one suite's own, beside that of ./dev test: with what nobody else wants, or without what
/// everybody else needs. It is stopped at the end.
class OwnCluster {
 public:
  /// `name` tells several apart; `flags` are those of `localcluster up`. A failure to start fails the test.
  OwnCluster(const std::string& name, const std::vector<std::string>& flags);
  ~OwnCluster();
  OwnCluster(const OwnCluster&) = delete;
  OwnCluster& operator=(const OwnCluster&) = delete;

  [[nodiscard]] const std::string& state() const { return state_; }
  [[nodiscard]] std::string kubeconfig() const { return state_ + "/kubeconfig"; }
  /// Another verb of localcluster on it; the test fails when that does.
  void command(const std::vector<std::string>& words) const;

 private:
  std::string state_;
};

}  // namespace inference::e2e
