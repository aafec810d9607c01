#include "reconcilers/own_writes.h"

#include "operator/runtime/object_meta.h"

namespace inference::reconcilers {

void OwnWrites::note(const client::ObjectRef& owner, const client::Resource& resource, Object object) {
  by_owner_.with([&](auto& by_owner) {
    auto& written = by_owner[owner];
    std::erase_if(written, [&](const Written& earlier) {
      return earlier.resource == resource && runtime::ref_of(*earlier.object) == runtime::ref_of(*object);
    });
    written.push_back({resource, std::move(object), clock_.now()});
  });
}

std::vector<Object> OwnWrites::unseen(const client::ObjectRef& owner, const client::Resource& resource,
                                      std::uint64_t seen) {
  return by_owner_.with([&](auto& by_owner) {
    std::vector<Object> objects;
    const auto found = by_owner.find(owner);
    if (found == by_owner.end()) return objects;
    std::erase_if(found->second, [&](const Written& written) {
      if (written.resource != resource) return false;
      return runtime::version_number(runtime::resource_version_of(*written.object)) <= seen ||
             clock_.now() - written.at > kTrustedFor;
    });
    for (const Written& written : found->second) {
      if (written.resource == resource) objects.push_back(written.object);
    }
    if (found->second.empty()) by_owner.erase(found);
    return objects;
  });
}

void OwnWrites::forget(const client::ObjectRef& owner) {
  by_owner_.with([&](auto& by_owner) { by_owner.erase(owner); });
}

}  // namespace inference::reconcilers
