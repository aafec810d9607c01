#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "operator/client/resource.h"

/// Reads of an object's metadata that take any JSON: what is absent or of another type is empty. Nothing here throws.
namespace inference::runtime {

[[nodiscard]] client::ObjectRef ref_of(const Json& object);
[[nodiscard]] std::string uid_of(const Json& object);
[[nodiscard]] std::string resource_version_of(const Json& object);

/// The number that a resourceVersion is (KEP-5504), 0 when it is none.
[[nodiscard]] std::uint64_t version_number(std::string_view resource_version);

struct OwnerReference {
  std::string group;  // of its apiVersion, without the version
  std::string kind;
  std::string name;
  std::string uid;
  bool controller = false;
};
[[nodiscard]] std::vector<OwnerReference> owners_of(const Json& object);

/// `object.metadata.FIELD` if it is there, else a null.
[[nodiscard]] const Json& metadata_field(const Json& object, const char* field);

}  // namespace inference::runtime
