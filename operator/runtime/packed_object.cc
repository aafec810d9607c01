#include "operator/runtime/packed_object.h"

#include "operator/runtime/object_meta.h"

namespace inference::runtime {

PackedObject::PackedObject(const Json& object) : resource_version_(resource_version_of(object)) {
  std::vector<std::uint8_t> bytes = Json::to_msgpack(object);
  bytes.shrink_to_fit();
  bytes_ = std::make_shared<const std::vector<std::uint8_t>>(std::move(bytes));
}

Object PackedObject::unpack() const {
  return std::make_shared<const Json>(Json::from_msgpack(*bytes_));
}

}  // namespace inference::runtime
