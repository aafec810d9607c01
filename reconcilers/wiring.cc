#include "reconcilers/wiring.h"

#include <string>

#include "crd/inference_deployment.h"
#include "operator/runtime/enqueue.h"
#include "reconcilers/children.h"
#include "reconcilers/gather.h"
#include "reconcilers/inference_deployment_reconciler.h"
#include "reconcilers/workload.h"
#include "render/labels.h"

namespace inference::reconcilers {

void add_inference_deployments(runtime::Manager& manager, const runtime::Surroundings& surroundings,
                               const render::TemplateSet& templates, std::size_t workers) {
  using namespace client::resources;
  // Only what carries our label is cached: a cluster's other Deployments, ConfigMaps and pods cost us nothing.
  const runtime::Selection ours{.label_selector = std::string(render::kManagedByLabel) + "=" + render::kManagedByValue};
  runtime::Selection our_pods = ours;
  our_pods.mask = client::FieldMask::only(fields_of_pods());

  runtime::Informer& deployments = manager.watch(kInferenceDeployment);
  runtime::Informer& profiles = manager.watch(kInferenceProfile);
  runtime::Informer& pods = manager.watch(kPod, our_pods, {index_pods()});
  Caches caches{
      .deployments = deployments.lister(), .profiles = profiles.lister(), .children = {}, .pods = pods.lister()};
  std::vector<std::pair<client::Resource, runtime::Informer*>> children;
  for (const auto& kind : child_kinds()) {
    runtime::Informer& informer = manager.watch(kind, ours, {runtime::index_by_owner_uid()});
    children.emplace_back(kind, &informer);
    caches.children.emplace_back(kind, informer.lister());
  }

  auto reconciler = std::make_unique<InferenceDeploymentReconciler>(
      caches, surroundings.api, surroundings.recorder, surroundings.metrics, templates, surroundings.clock);
  // Before the queue's own handler: a worker may be quicker than the next handler.
  deployments.on_change([&seen = *reconciler](const runtime::Change& change) { seen.see(change); });
  for (const auto& [kind, child] : children) {
    child->on_change([&seen = *reconciler, kind](const runtime::Change& change) { seen.see_child(kind, change); });
  }
  runtime::WorkQueue& queue =
      manager.add_controller({.name = "inferencedeployment", .workers = workers}, std::move(reconciler)).queue();

  // Our own status writes come back as changes without a new generation: nothing to do.
  deployments.on_change(runtime::enqueue_object(queue, runtime::spec_or_metadata_changed));
  for (const auto& [kind, child] : children)
    child->on_change(runtime::enqueue_owner(queue, crd::kGroup, crd::kInferenceDeploymentKind));
  pods.on_change(runtime::enqueue_mapped(queue, owner_of_pod));
  // A profile may concern any object: which one, the reconcile finds out.
  profiles.on_change(runtime::enqueue_mapped(
      queue, [all = deployments.lister()](const Json&) { return all.refs(); }, runtime::spec_or_metadata_changed));
}

}  // namespace inference::reconcilers
