#include "operator/runtime/object_meta.h"

#include "base/json_members.h"
#include "base/parse_integer.h"

namespace inference::runtime {
const Json& metadata_field(const Json& object, const char* field) {
  return member(member(object, "metadata"), field);
}

client::ObjectRef ref_of(const Json& object) {
  const Json& metadata = member(object, "metadata");
  return {.ns = text_at(metadata, "namespace"), .name = text_at(metadata, "name")};
}

std::string uid_of(const Json& object) {
  return text_at(member(object, "metadata"), "uid");
}

std::string resource_version_of(const Json& object) {
  return text_at(member(object, "metadata"), "resourceVersion");
}

std::uint64_t version_number(std::string_view resource_version) {
  return parse_integer<std::uint64_t>(resource_version).value_or(0);
}

std::vector<OwnerReference> owners_of(const Json& object) {
  std::vector<OwnerReference> owners;
  const Json& references = metadata_field(object, "ownerReferences");
  if (!references.is_array()) return owners;
  for (const Json& reference : references) {
    const std::string api_version = text_at(reference, "apiVersion");
    const std::size_t slash = api_version.find('/');  // none in the core group's "v1"
    owners.push_back({.group = slash == std::string::npos ? std::string() : api_version.substr(0, slash),
                      .kind = text_at(reference, "kind"),
                      .name = text_at(reference, "name"),
                      .uid = text_at(reference, "uid"),
                      .controller = member(reference, "controller") == Json(true)});
  }
  return owners;
}

}  // namespace inference::runtime
