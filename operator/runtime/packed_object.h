#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"

namespace inference::runtime {

/// An object at rest: MessagePack, compressed against another of its kind. A cache holds thousands of objects that are
/// nearly alike and reads each a few times an hour; a rendered Deployment rests in some hundred bytes. Immutable, cheap
/// to copy, thread-safe.
class PackedObject {
 public:
  [[nodiscard]] Object unpack() const;
  [[nodiscard]] const std::string& resource_version() const { return resource_version_; }

 private:
  friend class ObjectPacker;
  using Bytes = std::vector<std::uint8_t>;
  struct Body {
    std::shared_ptr<const Bytes> dictionary;  // what the bytes refer to
    std::size_t size = 0;                     // of the MessagePack
    Bytes bytes;                              // LZ4 block
  };
  std::shared_ptr<const Body> body_;
  std::string resource_version_;
};

/// Packs the objects of one kind. Not thread-safe; what it packed outlives it.
class ObjectPacker {
 public:
  [[nodiscard]] PackedObject pack(const Json& object);

 private:
  std::shared_ptr<const PackedObject::Bytes> dictionary_;  // the first object's MessagePack
};

}  // namespace inference::runtime
