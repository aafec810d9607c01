#include "reconcilers/own_writes.h"

#include <limits>

#include "operator/runtime/object_meta.h"

namespace inference::reconcilers {

void OwnWrites::note(const client::ObjectRef& owner, const client::Resource& resource, Object object,
                     const runtime::Lister& cache) {
  by_owner_.with([&](auto& by_owner) {
    // An event may be quicker than the answer to the write that caused it. The cache is changed before `see` is called,
    // so one of the two finds the other.
    const Written fresh{resource, std::move(object), clock_.now()};
    const auto ref = runtime::ref_of(*fresh.object);
    if (is_seen(fresh, runtime::version_number(cache.version_of(ref)))) return;
    auto& written = by_owner[owner];
    std::erase_if(written, [&](const Written& earlier) {
      return earlier.resource == resource && runtime::ref_of(*earlier.object) == ref;
    });
    written.push_back(fresh);
  });
}

bool OwnWrites::is_seen(const Written& written, std::uint64_t seen) const {
  return runtime::version_number(runtime::resource_version_of(*written.object)) <= seen ||
         clock_.now() - written.at > kTrustedFor;
}

std::vector<Object> OwnWrites::unseen(const client::ObjectRef& owner, const client::Resource& resource,
                                      std::uint64_t seen) {
  return by_owner_.with([&](auto& by_owner) {
    std::vector<Object> objects;
    const auto found = by_owner.find(owner);
    if (found == by_owner.end()) return objects;
    std::erase_if(found->second,
                  [&](const Written& written) { return written.resource == resource && is_seen(written, seen); });
    for (const Written& written : found->second) {
      if (written.resource == resource) objects.push_back(written.object);
    }
    if (found->second.empty()) by_owner.erase(found);
    return objects;
  });
}

void OwnWrites::see(const client::Resource& resource, const runtime::Change& change) {
  const Object& shown = change.after != nullptr ? change.after : change.before;
  if (shown == nullptr) return;
  client::ObjectRef owner = change.ref;
  for (const auto& reference : runtime::owners_of(*shown)) {
    if (reference.controller) owner.name = reference.name;
  }
  const std::uint64_t seen = change.after == nullptr ? std::numeric_limits<std::uint64_t>::max()
                                                     : runtime::version_number(runtime::resource_version_of(*shown));
  by_owner_.with([&](auto& by_owner) {
    const auto found = by_owner.find(owner);
    if (found == by_owner.end()) return;
    std::erase_if(found->second, [&](const Written& written) {
      return written.resource == resource && runtime::ref_of(*written.object) == change.ref && is_seen(written, seen);
    });
    if (found->second.empty()) by_owner.erase(found);
  });
}

void OwnWrites::forget(const client::ObjectRef& owner) {
  by_owner_.with([&](auto& by_owner) { by_owner.erase(owner); });
}

}  // namespace inference::reconcilers
