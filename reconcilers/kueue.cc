#include "reconcilers/kueue.h"

#include "reconcilers/children.h"
#include "render/labels.h"

namespace inference::reconcilers {
namespace {

using namespace nlohmann::literals;

/// Kueue's webhooks write it into the pod templates of each workload that has a queue.
constexpr const char* kParentAnnotation = "kueue.x-k8s.io/pod-suspending-parent";

Json queue_label(const Json& object) {
  const auto pointer = "/metadata/labels"_json_pointer / render::kKueueQueueLabel;
  return object.contains(pointer) ? object[pointer] : Json();
}

Json shape_of_containers(const Json& containers) {
  Json shapes = Json::array();
  for (const Json& container : containers) {
    shapes.push_back(
        {{"name", container.value("name", "")},
         {"resources", {{"requests", container.value("/resources/requests"_json_pointer, Json::object())}}},
         {"ports", container.value("ports", Json::array())}});
  }
  return shapes;
}

/// What a Workload was counted by, of one pod template.
Json shape_of(const Json& group, const char* role) {
  Json shape = Json::object();
  if (!group.contains(role) || !group[role].contains("spec")) return shape;
  const Json& spec = group[role]["spec"];
  for (const char* field : {"nodeSelector", "affinity", "tolerations", "runtimeClassName", "priority",
                            "topologySpreadConstraints", "overhead", "resourceClaims"}) {
    if (spec.contains(field)) shape[field] = spec[field];
  }
  for (const char* list : {"containers", "initContainers"})
    shape[list] = shape_of_containers(spec.value(list, Json::array()));
  return shape;
}

/// What a LeaderWorkerSet's Workloads were counted by.
Json shape_of(const Json& object) {
  const Json group = object.value("/spec/leaderWorkerTemplate"_json_pointer, Json::object());
  Json shape = Json::object();
  shape["size"] = group.value("size", 1);
  for (const char* role : {"leaderTemplate", "workerTemplate"}) shape[role]["spec"] = shape_of(group, role);
  return shape;
}

}  // namespace

std::optional<std::string> must_recreate(const Json& live, const Json& desired) {
  const Json before = queue_label(live);
  const Json after = queue_label(desired);
  if (before.is_null() && after.is_null()) return std::nullopt;
  if (before != after) return std::string("metadata.labels.") + render::kKueueQueueLabel;
  if (desired.value("kind", "") != "LeaderWorkerSet") return std::nullopt;
  const Json old_shape = shape_of(live);
  const Json new_shape = shape_of(desired);
  auto difference = first_difference(old_shape, new_shape);
  if (!difference) difference = first_difference(new_shape, old_shape);
  if (!difference) return std::nullopt;
  return "spec.leaderWorkerTemplate." + *difference;
}

std::optional<render::Notice> untaken_by_kueue(const render::Rendered& rendered,
                                               const std::vector<LiveChild>& children) {
  for (const Json& object : rendered.objects) {
    if (queue_label(object).is_null()) continue;
    const bool group = object["kind"] == "LeaderWorkerSet";
    const auto annotation = Json::json_pointer(group ? "/spec/leaderWorkerTemplate/workerTemplate" : "/spec/template") /
                            "metadata" / "annotations" / kParentAnnotation;
    for (const LiveChild& child : children) {
      const bool waits = (*child.object).value("kind", "") == object["kind"] && !queue_label(*child.object).is_null() &&
                         !child.object->contains(annotation);
      if (!waits) continue;
      return render::Notice{
          "KueueNotManaging", "spec.scheduling.queue",
          "Kueue has not taken the " + object["kind"].get<std::string>() +
              ", so its pods wait for nothing and groups are no gangs: its configuration must list the integration " +
              (group ? "leaderworkerset.x-k8s.io/leaderworkerset" : "deployment")};
    }
  }
  return std::nullopt;
}

}  // namespace inference::reconcilers
