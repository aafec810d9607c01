#include "reconcilers/wiring.h"

#include <string>

#include "crd/inference_deployment.h"
#include "operator/runtime/enqueue.h"
#include "reconcilers/children.h"
#include "reconcilers/gates/gate_keeper.h"
#include "reconcilers/gather.h"
#include "reconcilers/gpus.h"
#include "reconcilers/inference_deployment_reconciler.h"
#include "reconcilers/workload.h"
#include "render/labels.h"

namespace inference::reconcilers {

namespace {

using namespace client::resources;

/// The keeper of scheduling gates, and who wakes it. Tells `owners` of what it found.
void add_gate_keeper(runtime::Manager& manager, const runtime::Surroundings& surroundings,
                     std::shared_ptr<gates::Board> board, const std::shared_ptr<gates::Pauses>& pauses,
                     runtime::WorkQueue& owners) {
  const std::string label = render::kGangLabel;
  runtime::Informer& gated = manager.watch(kPod, {.label_selector = label + "=" + render::kGangLabelGates,
                                                  .called = "gated",
                                                  .mask = client::FieldMask::only(gates::fields_of_members())});
  runtime::Informer& nodes =
      manager.watch_on_demand(kNode, {.mask = client::FieldMask::only(gates::fields_of_nodes())});
  // Where the label is absent this holds too.
  runtime::Informer& others =
      manager.watch_on_demand(kPod, {.label_selector = label + "!=" + render::kGangLabelGates,
                                     .called = "all others",
                                     .mask = client::FieldMask::only(gates::fields_of_occupants())});
  auto keeper = std::make_unique<gates::GateKeeper>(
      gates::GateKeeper::Sources{gated.lister(), nodes, others}, std::move(board), pauses,
      [&owners](const client::ObjectRef& owner) { owners.add(owner); }, surroundings.api, surroundings.recorder,
      surroundings.clock);
  runtime::WorkQueue& queue = manager.add_controller({.name = "gang-gates", .workers = 1}, std::move(keeper)).queue();
  // Pods come and go in bursts, and each look reads all of them.
  const auto look = [&queue](const runtime::Change&) {
    queue.add_after(gates::kAllGroups, std::chrono::milliseconds{100});
  };
  pauses->listen([&queue] { queue.add(gates::kAllGroups); });
  gated.on_change(look);
  nodes.on_change(look);
  others.on_change([look](const runtime::Change& change) {
    if (gates::changes_room(change)) look(change);
  });
}

}  // namespace

void add_inference_deployments(runtime::Manager& manager, const runtime::Surroundings& surroundings,
                               const render::TemplateSet& templates, std::size_t workers, std::string own_namespace) {
  // Only what carries our label is cached: a cluster's other Deployments, ConfigMaps and pods cost us nothing.
  const runtime::Selection ours{.label_selector = std::string(render::kManagedByLabel) + "=" + render::kManagedByValue};
  runtime::Selection our_pods = ours;
  our_pods.mask = client::FieldMask::only(fields_of_pods());

  runtime::Informer& deployments = manager.watch(kInferenceDeployment);
  runtime::Informer& profiles = manager.watch(kInferenceProfile);
  runtime::Informer& pods = manager.watch(kPod, our_pods, {index_pods()});
  runtime::Selection our_claims = ours;
  our_claims.mask = client::FieldMask::only(fields_of_claims());
  runtime::Informer& claims = manager.watch(kResourceClaim, our_claims, {index_pods()});
  const auto board = std::make_shared<gates::Board>();
  const auto pauses = std::make_shared<gates::Pauses>();
  Caches caches{.deployments = deployments.lister(),
                .profiles = profiles.lister(),
                .children = {},
                .pods = pods.lister(),
                .claims = claims.lister(),
                .gates = board,
                .pauses = pauses};
  std::vector<std::pair<client::Resource, runtime::Informer*>> children;
  for (const auto& kind : child_kinds()) {
    runtime::Informer& informer = manager.watch(kind, ours, {runtime::index_by_owner_uid()});
    children.emplace_back(kind, &informer);
    caches.children.emplace_back(kind, informer.lister());
  }

  auto reconciler = std::make_unique<InferenceDeploymentReconciler>(caches, surroundings.api, surroundings.recorder,
                                                                    surroundings.metrics, templates, surroundings.clock,
                                                                    std::move(own_namespace));
  // Before the queue's own handler: a worker may be quicker than the next handler.
  deployments.on_change([&seen = *reconciler](const runtime::Change& change) { seen.see(change); });
  for (const auto& [kind, child] : children) {
    child->on_change([&seen = *reconciler, kind](const runtime::Change& change) { seen.see_child(kind, change); });
  }
  pods.on_change([&seen = *reconciler](const runtime::Change& change) { seen.see_pod(change); });
  runtime::WorkQueue& queue =
      manager.add_controller({.name = "inferencedeployment", .workers = workers}, std::move(reconciler)).queue();

  add_gate_keeper(manager, surroundings, board, pauses, queue);

  // Our own status writes come back as changes without a new generation: nothing to do.
  deployments.on_change(runtime::enqueue_object(queue, runtime::spec_or_metadata_changed));
  for (const auto& [kind, child] : children)
    child->on_change(runtime::enqueue_owner(queue, crd::kGroup, crd::kInferenceDeploymentKind));
  pods.on_change(runtime::enqueue_mapped(queue, owner_of_pod));
  claims.on_change(runtime::enqueue_mapped(queue, owner_of_pod));
  // A profile may concern any object: which one, the reconcile finds out.
  profiles.on_change(runtime::enqueue_mapped(
      queue, [all = deployments.lister()](const Json&) { return all.refs(); }, runtime::spec_or_metadata_changed));
}

}  // namespace inference::reconcilers
