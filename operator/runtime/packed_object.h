#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"

namespace inference::runtime {

/// An object at rest: its MessagePack bytes, about a tenth of what the tree of values takes. A cache holds thousands of
/// objects and reads each a few times an hour. Immutable, cheap to copy, thread-safe.
class PackedObject {
 public:
  explicit PackedObject(const Json& object);
  [[nodiscard]] Object unpack() const;
  [[nodiscard]] const std::string& resource_version() const { return resource_version_; }

 private:
  std::shared_ptr<const std::vector<std::uint8_t>> bytes_;
  std::string resource_version_;
};

}  // namespace inference::runtime
