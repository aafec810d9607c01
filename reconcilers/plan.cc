#include "reconcilers/plan.h"

#include <algorithm>

#include "operator/runtime/object_meta.h"
#include "reconcilers/children.h"
#include "reconcilers/kueue.h"
#include "reconcilers/workload.h"

namespace inference::reconcilers {
namespace {

constexpr const char* kRenderedAnew = "rendered anew";
const Json::json_pointer kMinCount("/spec/schedulingPolicy/gang/minCount");

/// A field as the spec, else the profile says it.
template <typename Section, typename T>
std::optional<T> said(const Observed& observed, Section crd::InferenceDeploymentSpec::*section,
                      std::optional<T> Section::*field) {
  if (observed.deployment && (observed.deployment->spec.*section).*field)
    return (observed.deployment->spec.*section).*field;
  if (observed.profile && *observed.profile) return ((*observed.profile)->defaults.*section).*field;
  return std::nullopt;
}

template <typename T>
std::optional<T> scheduling_of(const Observed& observed, std::optional<T> crd::Scheduling::*field) {
  return said(observed, &crd::InferenceDeploymentSpec::scheduling, field);
}

bool is_group(const Observed& observed) {
  return observed.deployment && observed.deployment->spec.nodes.value_or(1) > 1;
}

/// The gang that living groups got, which `Auto` keeps. A Deployment has none, so a model that becomes a group chooses
/// afresh.
std::optional<crd::Gang> recorded_gang(const Observed& observed) {
  const Json* status = observed.status();
  if (status == nullptr || !status->contains("/resolved/gang"_json_pointer)) return std::nullopt;
  if (status->value("/workload/kind"_json_pointer, "") != "LeaderWorkerSet") return std::nullopt;
  const Json& recorded = (*status)["resolved"]["gang"];
  using enum crd::Gang;
  for (const auto gang : {kNone, kVolcano, kKueue, kNative, kGates}) {
    if (recorded == crd::to_string(gang)) return gang;
  }
  return std::nullopt;
}

/// Who holds living groups in Volcano.
std::optional<render::VolcanoGroups> recorded_groups(const Observed& observed) {
  if (recorded_gang(observed) != crd::Gang::kVolcano) return std::nullopt;
  const std::string recorded = observed.status()->value("/resolved/podGroups"_json_pointer, "");
  for (const auto groups : {render::VolcanoGroups::kLeaderWorkerSet, render::VolcanoGroups::kOperator}) {
    if (recorded == to_string(groups)) return groups;
  }
  return std::nullopt;
}

std::expected<render::Rendered, render::Refusal> render_observed(const Observed& observed,
                                                                 const render::ClusterFacts& facts,
                                                                 const render::TemplateSet& templates) {
  if (!observed.deployment) return std::unexpected(observed.deployment.error());
  if (!observed.profile) return std::unexpected(observed.profile.error());
  return render::render({.deployment = *observed.deployment,
                         .profile = *observed.profile ? &**observed.profile : nullptr,
                         .cluster = facts,
                         .recorded_gang = recorded_gang(observed),
                         .recorded_groups = recorded_groups(observed)},
                        templates);
}

/// A PodGroup that asks for one pod more than its group has is never complete, so the scheduler leaves the pods alone
/// (decision 19). It does not look at pods that have a node.
void hold_failing_groups(std::vector<Json>& objects, const Observed& observed) {
  if (!observed.groups) return;
  for (const FailingGroup& group : observed.groups->failing) {
    const std::string name = runtime::ref_of(*observed.object).name + "-" + std::to_string(group.index);
    for (Json& object : objects) {
      if (group.held && object["kind"] == "PodGroup" && runtime::ref_of(object).name == name &&
          object.contains(kMinCount))
        object[kMinCount] = object[kMinCount].get<std::int64_t>() + 1;
    }
  }
}

const LiveChild* find_child(const Observed& observed, const client::Resource& resource, const client::ObjectRef& ref) {
  const auto found = std::ranges::find_if(observed.children, [&](const LiveChild& child) {
    return child.resource == resource && runtime::ref_of(*child.object) == ref;
  });
  return found == observed.children.end() ? nullptr : &*found;
}

bool is_ending(const LiveChild& child) {
  return child.object->at("metadata").contains("deletionTimestamp");
}

bool is_wanted(const std::vector<Json>& objects, const LiveChild& child) {
  return std::ranges::any_of(objects, [&](const Json& object) {
    return object["kind"] == child.resource.kind && object["apiVersion"] == child.resource.api_version() &&
           runtime::ref_of(object) == runtime::ref_of(*child.object);
  });
}

/// The template that pods' claims are made from: a ResourceClaimTemplate itself, or the one of a ComputeDomain's
/// channel; empty for other kinds.
std::string claim_template_of(const LiveChild& child) {
  if (child.resource == client::resources::kResourceClaimTemplate) return runtime::ref_of(*child.object).name;
  if (child.resource != client::resources::kComputeDomain) return {};
  return child.object->value("/spec/channel/resourceClaimTemplate/name"_json_pointer, "");
}

/// Whether a pod may still be made that claims by this template: one of an old revision, while a rollout goes on or a
/// group of it is recreated. Without its template it would wait for ever.
bool may_be_claimed(const Observed& observed, const std::string& claim_template) {
  for (const LiveChild& child : observed.children) {
    const bool runs_pods =
        child.resource == client::resources::kDeployment || child.resource == client::resources::kLeaderWorkerSet;
    if (!runs_pods) continue;
    const Workload workload = read_workload(child.object.get());
    if (!workload.current || workload.updated < workload.replicas) return true;
  }
  return std::ranges::any_of(observed.pods, [&](const Object& pod) {
    const Json claims = pod->value("/spec/resourceClaims"_json_pointer, Json::array());
    return std::ranges::any_of(
        claims, [&](const Json& claim) { return claim.value("resourceClaimTemplateName", "") == claim_template; });
  });
}

bool claims_devices(const Observed& observed) {
  constexpr auto kAccelerator = &crd::InferenceDeploymentSpec::accelerator;
  return said(observed, kAccelerator, &crd::Accelerator::mode) == crd::AcceleratorMode::kDra ||
         said(observed, kAccelerator, &crd::Accelerator::compute_domain).value_or(false);
}

}  // namespace

std::optional<std::string> reason_to_write(const Json& live, const Json& desired) {
  const auto hash = Json::json_pointer("/metadata/annotations") / kAppliedHashAnnotation;
  if (!live.contains(hash) || live[hash] != desired[hash]) return kRenderedAnew;
  if (const auto difference = first_difference(live, desired)) return "changed at " + *difference;
  return std::nullopt;
}

bool needs_cluster_facts(const Observed& observed) {
  return is_group(observed) || scheduling_of(observed, &crd::Scheduling::gang) == crd::Gang::kKueue ||
         claims_devices(observed);
}

std::optional<std::string> queue_of(const Observed& observed) {
  using enum crd::Gang;
  const auto gang = scheduling_of(observed, &crd::Scheduling::gang).value_or(kAuto);
  const bool chosen_by_us = gang == kAuto && is_group(observed) && recorded_gang(observed).value_or(kKueue) == kKueue;
  return gang == kKueue || chosen_by_us ? scheduling_of(observed, &crd::Scheduling::queue) : std::nullopt;
}

Plan make_plan(const Observed& observed, const render::ClusterFacts& facts, const render::TemplateSet& templates) {
  Plan plan;
  auto rendered = render_observed(observed, facts, templates);
  if (!rendered) {
    plan.refusal = std::move(rendered.error());
    return plan;
  }
  hold_failing_groups(rendered->objects, observed);
  for (const Json& object : rendered->objects) {
    const client::Resource* resource = client::find_resource(object.value("apiVersion", ""), object.value("kind", ""));
    if (resource == nullptr)
      throw std::logic_error("render made a kind that no client resource is known for: " + object.value("kind", ""));
    Json desired = as_child(object, *observed.object);
    const LiveChild* live = find_child(observed, *resource, runtime::ref_of(object));
    if (live != nullptr && is_ending(*live)) {
      plan.awaits_end = true;
      continue;
    }
    auto why = live == nullptr ? std::optional<std::string>("absent") : reason_to_write(*live->object, desired);
    if (!why) continue;
    Write& write = plan.writes.emplace_back(Write{*resource, std::move(desired), live != nullptr, std::move(*why)});
    // Only for what we render, never for what someone else has changed meanwhile: a group is lost for it.
    if (live == nullptr || write.why != kRenderedAnew) continue;
    if (auto field = must_recreate(*live->object, write.object))
      write.recreation = Recreation{live->object->at("metadata").value("uid", ""), std::move(*field)};
  }
  for (const LiveChild& child : observed.children) {
    if (is_wanted(rendered->objects, child) || is_ending(child)) continue;
    const std::string claim_template = claim_template_of(child);
    // While anything is written, what is observed speaks of the past; the writes bring us back.
    if (!claim_template.empty() && (!plan.writes.empty() || may_be_claimed(observed, claim_template))) continue;
    plan.removals.push_back(
        {child.resource, runtime::ref_of(*child.object), (*child.object)["metadata"].value("uid", "")});
  }
  if (auto notice = untaken_by_kueue(*rendered, observed.children)) rendered->notices.push_back(std::move(*notice));
  plan.rendered = std::move(*rendered);
  return plan;
}

}  // namespace inference::reconcilers
