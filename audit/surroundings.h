#pragma once

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/json.h"

namespace inference::audit {

/// The other objects of an audit's input, which some rules ask for: claims of devices and of volumes, groups.
class Surroundings {
 public:
  Surroundings() = default;
  explicit Surroundings(const std::vector<Object>& objects);

  /// Null when the input does not have it. An object without a namespace is found from every namespace, and one is
  /// found for a workload without a namespace if it is the only one of its name.
  [[nodiscard]] const Json* find(std::string_view kind, std::string_view ns, std::string_view name) const;

 private:
  struct Entry {
    std::string ns;
    Object object;
  };
  std::map<std::pair<std::string, std::string>, std::vector<Entry>> objects_;  // by kind and name
};

}  // namespace inference::audit
