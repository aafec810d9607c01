#include "operator/runtime/enqueue.h"

#include "operator/runtime/object_meta.h"

namespace inference::runtime {
namespace {

bool passes(const Predicate& wanted, const Change& change) {
  return !wanted || wanted(change);
}

}  // namespace

ChangeHandler enqueue_object(WorkQueue& queue, Predicate wanted) {
  return [&queue, wanted = std::move(wanted)](const Change& change) {
    if (passes(wanted, change)) queue.add(change.ref);
  };
}

ChangeHandler enqueue_owner(WorkQueue& queue, std::string group, std::string kind, Predicate wanted) {
  const auto owner = [group = std::move(group), kind = std::move(kind)](const Json& object) {
    std::vector<client::ObjectRef> keys;
    for (const OwnerReference& reference : owners_of(object)) {
      if (!reference.controller || reference.group != group || reference.kind != kind) continue;
      keys.push_back({.ns = ref_of(object).ns, .name = reference.name});
    }
    return keys;
  };
  return enqueue_mapped(queue, owner, std::move(wanted));
}

ChangeHandler enqueue_mapped(WorkQueue& queue, std::function<std::vector<client::ObjectRef>(const Json& object)> map,
                             Predicate wanted) {
  return [&queue, map = std::move(map), wanted = std::move(wanted)](const Change& change) {
    if (!passes(wanted, change)) return;
    for (const Object& object : {change.before, change.after}) {
      if (object == nullptr) continue;
      for (const client::ObjectRef& key : map(*object)) queue.add(key);
    }
  };
}

bool spec_or_metadata_changed(const Change& change) {
  if (change.before == nullptr || change.after == nullptr) return true;
  for (const char* field : {"generation", "labels", "annotations", "deletionTimestamp", "ownerReferences"}) {
    if (metadata_field(*change.before, field) != metadata_field(*change.after, field)) return true;
  }
  return false;
}

}  // namespace inference::runtime
