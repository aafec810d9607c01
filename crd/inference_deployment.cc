#include "crd/inference_deployment.h"

#include <stdexcept>

#include "crd/wire_names.h"

namespace inference::crd {
namespace {

template <typename Enum>
std::string name_of(Enum value) {
  for (const auto& [candidate, name] : wire_names(Enum{})) {
    if (candidate == value) return std::string(name);
  }
  throw std::logic_error("an enumerator without a name on the wire");
}

}  // namespace

std::string to_string(ProfilePolicy value) {
  return name_of(value);
}
std::string to_string(AcceleratorMode value) {
  return name_of(value);
}
std::string to_string(Sharing value) {
  return name_of(value);
}
std::string to_string(CacheMode value) {
  return name_of(value);
}
std::string to_string(Gang value) {
  return name_of(value);
}
std::string to_string(TopologyCheck value) {
  return name_of(value);
}

}  // namespace inference::crd
