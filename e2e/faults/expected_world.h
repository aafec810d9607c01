#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "e2e/real_cluster.h"

namespace inference::e2e {

/// What one namespace holds when the operator has done its work for these InferenceDeployments and for no others: just
/// what `kubectl-inference render` prints for them.
class ExpectedWorld {
 public:
  /// `wanted` by name; `profile` is the cluster's only one and the default.
  ExpectedWorld(RealCluster& cluster, std::string ns, std::map<std::string, Json> wanted, const Json& profile);

  /// Where the cluster differs: objects that lack or are too many, other owners, a status that is not of the newest
  /// spec or says not ready. A line each; empty when nothing differs.
  [[nodiscard]] std::vector<std::string> differences();
  /// The children that the API server would change if the operator wrote them once more: neither a field nor a field's
  /// owner may be missing or left over. To be asked when nothing moves.
  [[nodiscard]] std::vector<std::string> stale_children();

  [[nodiscard]] std::size_t children() const { return rendered_.size(); }

 private:
  void find_models(std::vector<std::string>& found);
  void find_children(std::vector<std::string>& found);
  void find_pods(std::vector<std::string>& found);

  RealCluster& cluster_;
  const std::string ns_;
  const std::map<std::string, Json> wanted_;
  std::map<std::string, Json> rendered_;  // by "Kind name"
  std::map<std::string, Json> live_;      // the InferenceDeployments, by name
};

}  // namespace inference::e2e
