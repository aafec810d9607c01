#include "reconcilers/plan.h"

#include <algorithm>

#include "operator/runtime/object_meta.h"
#include "reconcilers/children.h"

namespace inference::reconcilers {
namespace {

/// The gang that living groups got, which `Auto` keeps. A Deployment has none, so a model that becomes a group chooses
/// afresh.
std::optional<crd::Gang> recorded_gang(const Observed& observed) {
  const Json* status = observed.status();
  if (status == nullptr || !status->contains("/resolved/gang"_json_pointer)) return std::nullopt;
  if (status->value("/workload/kind"_json_pointer, "") != "LeaderWorkerSet") return std::nullopt;
  const Json& recorded = (*status)["resolved"]["gang"];
  for (const auto gang : {crd::Gang::kNone, crd::Gang::kVolcano, crd::Gang::kNative, crd::Gang::kGates}) {
    if (recorded == crd::to_string(gang)) return gang;
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
                         .recorded_gang = recorded_gang(observed)},
                        templates);
}

const LiveChild* find_child(const Observed& observed, const client::Resource& resource, const client::ObjectRef& ref) {
  const auto found = std::ranges::find_if(observed.children, [&](const LiveChild& child) {
    return child.resource == resource && runtime::ref_of(*child.object) == ref;
  });
  return found == observed.children.end() ? nullptr : &*found;
}

bool is_wanted(const std::vector<Json>& objects, const LiveChild& child) {
  return std::ranges::any_of(objects, [&](const Json& object) {
    return object["kind"] == child.resource.kind && object["apiVersion"] == child.resource.api_version() &&
           runtime::ref_of(object) == runtime::ref_of(*child.object);
  });
}

}  // namespace

std::optional<std::string> reason_to_write(const Json& live, const Json& desired) {
  const auto hash = Json::json_pointer("/metadata/annotations") / kAppliedHashAnnotation;
  if (!live.contains(hash) || live[hash] != desired[hash]) return "rendered anew";
  if (const auto difference = first_difference(live, desired)) return "changed at " + *difference;
  return std::nullopt;
}

bool needs_cluster_facts(const Observed& observed) {
  return observed.deployment && observed.deployment->spec.nodes.value_or(1) > 1;
}

Plan make_plan(const Observed& observed, const render::ClusterFacts& facts, const render::TemplateSet& templates) {
  Plan plan;
  auto rendered = render_observed(observed, facts, templates);
  if (!rendered) {
    plan.refusal = std::move(rendered.error());
    return plan;
  }
  for (const Json& object : rendered->objects) {
    const client::Resource* resource = client::find_resource(object.value("apiVersion", ""), object.value("kind", ""));
    if (resource == nullptr)
      throw std::logic_error("render made a kind that no client resource is known for: " + object.value("kind", ""));
    Json desired = as_child(object, *observed.object);
    const LiveChild* live = find_child(observed, *resource, runtime::ref_of(object));
    auto why = live == nullptr ? std::optional<std::string>("absent") : reason_to_write(*live->object, desired);
    if (why) plan.writes.push_back({*resource, std::move(desired), live != nullptr, std::move(*why)});
  }
  for (const LiveChild& child : observed.children) {
    if (is_wanted(rendered->objects, child) || (*child.object)["metadata"].contains("deletionTimestamp")) continue;
    plan.removals.push_back(
        {child.resource, runtime::ref_of(*child.object), (*child.object)["metadata"].value("uid", "")});
  }
  plan.rendered = std::move(*rendered);
  return plan;
}

}  // namespace inference::reconcilers
