#include "operator/runtime/object_meta.h"

#include <charconv>

namespace inference::runtime {
namespace {

const Json& member(const Json& object, const char* key) {
  static const Json kNull;
  if (!object.is_object()) return kNull;
  const auto found = object.find(key);
  return found == object.end() ? kNull : *found;
}

std::string text(const Json& value) {
  const auto* string = value.get_ptr<const std::string*>();
  return string == nullptr ? std::string() : *string;
}

}  // namespace

const Json& metadata_field(const Json& object, const char* field) {
  return member(member(object, "metadata"), field);
}

client::ObjectRef ref_of(const Json& object) {
  return {.ns = text(metadata_field(object, "namespace")), .name = text(metadata_field(object, "name"))};
}

std::string uid_of(const Json& object) {
  return text(metadata_field(object, "uid"));
}

std::string resource_version_of(const Json& object) {
  return text(metadata_field(object, "resourceVersion"));
}

std::uint64_t version_number(std::string_view resource_version) {
  std::uint64_t number = 0;
  const char* const end = resource_version.data() + resource_version.size();
  const auto [stopped, error] = std::from_chars(resource_version.data(), end, number);
  return error == std::errc() && stopped == end ? number : 0;
}

std::vector<OwnerReference> owners_of(const Json& object) {
  std::vector<OwnerReference> owners;
  const Json& references = metadata_field(object, "ownerReferences");
  if (!references.is_array()) return owners;
  for (const Json& reference : references) {
    const std::string api_version = text(member(reference, "apiVersion"));
    const std::size_t slash = api_version.find('/');  // none in the core group's "v1"
    owners.push_back({.group = slash == std::string::npos ? std::string() : api_version.substr(0, slash),
                      .kind = text(member(reference, "kind")),
                      .name = text(member(reference, "name")),
                      .uid = text(member(reference, "uid")),
                      .controller = member(reference, "controller") == Json(true)});
  }
  return owners;
}

}  // namespace inference::runtime
