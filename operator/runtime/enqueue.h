#pragma once

#include <functional>
#include <string>
#include <vector>

#include "operator/runtime/informer.h"
#include "operator/runtime/work_queue.h"

/// The handlers that informers get: free functions from a change to the keys it concerns. Each `queue` outlives the
/// informer it serves.
namespace inference::runtime {

/// Whether a change is worth a reconcile at all. Pure.
using Predicate = std::function<bool(const Change&)>;

/// Enqueues the object itself.
[[nodiscard]] ChangeHandler enqueue_object(WorkQueue& queue, Predicate wanted = {});
/// Enqueues the controlling owner of the given group and kind (any version), before and after the change: an object
/// that changes hands concerns both.
[[nodiscard]] ChangeHandler enqueue_owner(WorkQueue& queue, std::string group, std::string kind, Predicate wanted = {});
/// Enqueues whatever `map` names for the object before and after the change.
[[nodiscard]] ChangeHandler enqueue_mapped(WorkQueue& queue,
                                           std::function<std::vector<client::ObjectRef>(const Json& object)> map,
                                           Predicate wanted = {});

/// True unless only status or other unversioned parts changed: compares metadata.generation, labels, annotations,
/// deletionTimestamp and ownerReferences.
[[nodiscard]] bool spec_or_metadata_changed(const Change& change);

}  // namespace inference::runtime
