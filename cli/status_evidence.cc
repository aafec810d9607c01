#include "cli/status_evidence.h"

#include <algorithm>
#include <utility>

#include "base/json_members.h"
#include "render/labels.h"

namespace inference::cli {
namespace {

using diagnose::Evidence;
using namespace client::resources;

/// What the rules read of each kind: the rest of a fleet's nodes or of a pod's spec is not worth its transfer.
client::FieldMask pod_fields() {
  return client::FieldMask::only({"metadata.labels", "metadata.creationTimestamp", "metadata.deletionTimestamp",
                                  "spec.nodeName", "spec.nodeSelector", "spec.tolerations", "spec.schedulingGates",
                                  "spec.schedulingGroup", "spec.schedulerName", "status"});
}

client::FieldMask node_fields() {
  return client::FieldMask::only({"metadata.labels", "spec.taints", "status.allocatable", "status.conditions"});
}

/// Reads one part after the other; what fails is noted.
class Gatherer {
 public:
  Gatherer(client::ApiClient& api, const client::ObjectRef& model) : api_(api), model_(model) {}

  std::expected<Evidence, std::string> run() {
    evidence_.ns = model_.ns;
    evidence_.name = model_.name;
    auto object = api_.get(kInferenceDeployment, model_, {});
    if (!object && object.error().is_not_found() && !serves_our_kind())
      return std::unexpected("the cluster has no InferenceDeployments: kubectl apply --server-side -k config/default");
    if (!object && !object.error().is_not_found())
      return std::unexpected("InferenceDeployment " + model_.to_string() + ": " + object.error().to_string());
    if (!object) return std::move(evidence_);
    evidence_.object = std::move(*object);
    evidence_.object["metadata"].erase("managedFields");
    read_workload();
    evidence_.pods = list("pods", kPod,
                          {.ns = model_.ns,
                           .label_selector = std::string(render::kNameLabel) + "=" + model_.name,
                           .limit = 0,
                           .mask = pod_fields()});
    read_groups();
    read_events();
    // Where all serve they have nothing to tell, and they are many.
    if (!std::ranges::all_of(evidence_.pods, diagnose::is_ready) || evidence_.pods.empty())
      evidence_.nodes = list("nodes", kNode, {.limit = 0, .mask = node_fields()});
    for (auto* items : {&evidence_.pods, &evidence_.nodes, &evidence_.pod_groups})
      std::ranges::sort(*items, {}, diagnose::name_of);
    return std::move(evidence_);
  }

 private:
  /// Also a path that is not served is a 404.
  [[nodiscard]] bool serves_our_kind() {
    const auto served = api_.get_raw("/apis/" + kInferenceDeployment.api_version(), {});
    return served || !served.error().is_not_found();
  }

  void note(const std::string& part, const client::ApiError& error) {
    evidence_.unread.push_back({part, error.to_string()});
  }

  /// Nothing of a kind that the cluster does not serve is not worth a word.
  std::vector<Json> list(const std::string& part, const client::Resource& resource,
                         const client::ListOptions& options) {
    auto page = api_.list(resource, options, {});
    if (page) return std::move(page->items);
    if (!page.error().is_not_found()) note(part, page.error());
    return {};
  }

  void read_workload() {
    const std::string kind = evidence_.text("/status/workload/kind");
    const client::Resource& resource = kind == kLeaderWorkerSet.kind ? kLeaderWorkerSet : kDeployment;
    if (kind.empty()) return;
    auto object = api_.get(resource, model_, {});
    if (object) {
      evidence_.workload = std::move(*object);
      evidence_.workload["metadata"].erase("managedFields");
    } else if (!object.error().is_not_found()) {
      note(resource.plural, object.error());
    }
  }

  void read_groups() {
    if (evidence_.text("/status/resolved/gang") != "Native") return;
    auto groups = list("podgroups", kPodGroup,
                       {.ns = model_.ns,
                        .label_selector = std::string(render::kNameLabel) + "=" + model_.name,
                        .limit = 0,
                        .mask = client::FieldMask::only({"spec", "status"})});
    evidence_.pod_groups = std::move(groups);
  }

  /// Those whose subject is named as the model or as something of it: pods, ReplicaSets, StatefulSets.
  void read_events() {
    auto events = list("events", kEvent,
                       {.ns = model_.ns,
                        .field_selector = "type=Warning",
                        .limit = 0,
                        .mask = client::FieldMask::without({"metadata.managedFields"})});
    std::erase_if(events, [this](const Json& event) {
      const std::string subject = text_at(member(event, "regarding"), "name");
      return subject != model_.name && !subject.starts_with(model_.name + "-");
    });
    std::ranges::stable_sort(events, {}, [](const Json& event) { return text_at(event, "eventTime"); });
    constexpr std::ptrdiff_t kNewest = 50;
    if (std::ssize(events) > kNewest) events.erase(events.begin(), events.end() - kNewest);
    evidence_.events = std::move(events);
  }

  client::ApiClient& api_;
  const client::ObjectRef model_;
  Evidence evidence_;
};

}  // namespace

std::expected<Evidence, std::string> gather_evidence(client::ApiClient& api, const client::ObjectRef& model) {
  return Gatherer(api, model).run();
}

}  // namespace inference::cli
