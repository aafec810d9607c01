#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/json.h"
#include "render/holes.h"
#include "render/template_set.h"
#include "render/traced.h"

/// What fills the holes of each template, by the names that the templates use.
namespace inference::render {

struct MetadataValues {
  Traced<std::string> object_name;
  std::optional<Traced<std::string>> ns;
  Traced<std::string> object_component;
  Traced<std::string> owner_name;
  Traced<std::string> templates_digest;
  std::optional<Traced<std::string>> volcano_queue, kueue_queue;
};
template <>
inline constexpr auto kHolesOf<MetadataValues> = std::tuple{
    Hole{"object_name", &MetadataValues::object_name},           Hole{"namespace", &MetadataValues::ns},
    Hole{"object_component", &MetadataValues::object_component}, Hole{"owner_name", &MetadataValues::owner_name},
    Hole{"templates_digest", &MetadataValues::templates_digest}, Hole{"volcano_queue", &MetadataValues::volcano_queue},
    Hole{"kueue_queue", &MetadataValues::kueue_queue},
};

struct ProbeValues {
  Traced<std::string> path;
  Traced<std::int64_t> port, period, timeout, threshold;
};
template <>
inline constexpr auto kHolesOf<ProbeValues> = std::tuple{
    Hole{"path", &ProbeValues::path},           Hole{"port", &ProbeValues::port},
    Hole{"period", &ProbeValues::period},       Hole{"timeout", &ProbeValues::timeout},
    Hole{"threshold", &ProbeValues::threshold},
};

/// One of the init containers that look at the links between the GPUs.
struct TopologyValues {
  Traced<std::string> container, image, mode, gpus, tensor;
  HoleValue resources;
  std::optional<HoleValue> claims;
};
template <>
inline constexpr auto kHolesOf<TopologyValues> = std::tuple{
    Hole{"topology_container", &TopologyValues::container}, Hole{"topology_image", &TopologyValues::image},
    Hole{"topology_mode", &TopologyValues::mode},           Hole{"topology_gpus", &TopologyValues::gpus},
    Hole{"topology_tensor", &TopologyValues::tensor},       Hole{"topology_resources", &TopologyValues::resources},
    Hole{"topology_claims", &TopologyValues::claims},
};

struct WaitForLeaderValues {
  Traced<std::string> image;
  HoleValue resources;
};
template <>
inline constexpr auto kHolesOf<WaitForLeaderValues> = std::tuple{
    Hole{"wait_image", &WaitForLeaderValues::image},
    Hole{"wait_resources", &WaitForLeaderValues::resources},
};

struct InitContainersValues {
  std::optional<SubTemplate<TopologyValues>> topology_check, topology_gate;
  std::optional<SubTemplate<WaitForLeaderValues>> wait_for_leader;
};
template <>
inline constexpr auto kHolesOf<InitContainersValues> = std::tuple{
    Hole{"topology_check", &InitContainersValues::topology_check},
    Hole{"topology_gate", &InitContainersValues::topology_gate},
    Hole{"wait_for_leader", &InitContainersValues::wait_for_leader},
};

struct PodValues {
  Traced<std::string> component, name;
  std::optional<Traced<std::string>> gang_label, scheduler_name, priority_class, dns_policy;
  std::optional<Traced<Json>> scheduling_gates;
  Traced<std::int64_t> grace_period;
  std::optional<HoleValue> node_selector;
  Traced<std::string> toleration_key;
  std::vector<Traced<Json>> tolerations;
  std::optional<SubTemplate<InitContainersValues>> init_containers;
  Traced<std::string> image;
  std::optional<Traced<Json>> command;
  std::vector<Traced<std::string>> args;
  std::vector<HoleValue> env;
  std::optional<HoleValue> ports;
  HoleValue resources;
  std::optional<HoleValue> claims, resource_claims;  // a container's, and its pod's
  std::optional<Traced<Json>> capabilities;
  std::optional<SubTemplate<ProbeValues>> startup_probe, liveness_probe, readiness_probe;
  std::optional<HoleValue> model_host_path, model_claim;
  Traced<std::string> shared_memory, drain_config_map;
};
template <>
inline constexpr auto kHolesOf<PodValues> = std::tuple{
    Hole{"component", &PodValues::component},
    Hole{"name", &PodValues::name},
    Hole{"gang_label", &PodValues::gang_label},
    Hole{"scheduler_name", &PodValues::scheduler_name},
    Hole{"scheduling_gates", &PodValues::scheduling_gates},
    Hole{"priority_class", &PodValues::priority_class},
    Hole{"dns_policy", &PodValues::dns_policy},
    Hole{"grace_period", &PodValues::grace_period},
    Hole{"node_selector", &PodValues::node_selector},
    Hole{"toleration_key", &PodValues::toleration_key},
    Hole{"tolerations", &PodValues::tolerations},
    Hole{"init_containers", &PodValues::init_containers},
    Hole{"image", &PodValues::image},
    Hole{"command", &PodValues::command},
    Hole{"args", &PodValues::args},
    Hole{"env", &PodValues::env},
    Hole{"ports", &PodValues::ports},
    Hole{"resources", &PodValues::resources},
    Hole{"claims", &PodValues::claims},
    Hole{"resource_claims", &PodValues::resource_claims},
    Hole{"capabilities", &PodValues::capabilities},
    Hole{"startup_probe", &PodValues::startup_probe},
    Hole{"liveness_probe", &PodValues::liveness_probe},
    Hole{"readiness_probe", &PodValues::readiness_probe},
    Hole{"model_host_path", &PodValues::model_host_path},
    Hole{"model_claim", &PodValues::model_claim},
    Hole{"shared_memory", &PodValues::shared_memory},
    Hole{"drain_config_map", &PodValues::drain_config_map},
};

struct DeploymentValues {
  Traced<std::int64_t> replicas, progress_deadline;
  Traced<std::string> name;
  Traced<Json> max_surge, max_unavailable;  // a number or a percentage
  SubTemplate<PodValues> pod;
};
template <>
inline constexpr auto kHolesOf<DeploymentValues> = std::tuple{
    Hole{"replicas", &DeploymentValues::replicas},
    Hole{"progress_deadline", &DeploymentValues::progress_deadline},
    Hole{"name", &DeploymentValues::name},
    Hole{"max_surge", &DeploymentValues::max_surge},
    Hole{"max_unavailable", &DeploymentValues::max_unavailable},
    Hole{"pod", &DeploymentValues::pod},
};

struct GroupValues {
  Traced<std::int64_t> replicas, size;
  Traced<Json> max_surge, max_unavailable;  // a number or a percentage
  SubTemplate<PodValues> leader, worker;
};
template <>
inline constexpr auto kHolesOf<GroupValues> = std::tuple{
    Hole{"replicas", &GroupValues::replicas},   Hole{"size", &GroupValues::size},
    Hole{"max_surge", &GroupValues::max_surge}, Hole{"max_unavailable", &GroupValues::max_unavailable},
    Hole{"leader", &GroupValues::leader},       Hole{"worker", &GroupValues::worker},
};

struct ServiceValues {
  Traced<std::string> name;
  std::optional<Traced<std::string>> server_component, worker_index;
  Traced<std::int64_t> port;
};
template <>
inline constexpr auto kHolesOf<ServiceValues> = std::tuple{
    Hole{"name", &ServiceValues::name},
    Hole{"server_component", &ServiceValues::server_component},
    Hole{"worker_index", &ServiceValues::worker_index},
    Hole{"port", &ServiceValues::port},
};

struct BudgetValues {
  Traced<std::string> name;
  std::optional<Traced<std::int64_t>> max_unavailable, min_available;
  std::optional<Traced<std::string>> server_component, group_set;
};
template <>
inline constexpr auto kHolesOf<BudgetValues> = std::tuple{
    Hole{"name", &BudgetValues::name},
    Hole{"max_unavailable", &BudgetValues::max_unavailable},
    Hole{"min_available", &BudgetValues::min_available},
    Hole{"server_component", &BudgetValues::server_component},
    Hole{"group_set", &BudgetValues::group_set},
};

struct VolcanoPodGroupValues {
  Traced<std::int64_t> min_member;
  HoleValue min_resources;
  std::optional<Traced<std::string>> group_queue, group_priority;
};
template <>
inline constexpr auto kHolesOf<VolcanoPodGroupValues> = std::tuple{
    Hole{"min_member", &VolcanoPodGroupValues::min_member},
    Hole{"min_resources", &VolcanoPodGroupValues::min_resources},
    Hole{"group_queue", &VolcanoPodGroupValues::group_queue},
    Hole{"group_priority", &VolcanoPodGroupValues::group_priority},
};

/// One choice of devices.
struct DeviceRequestValues {
  std::optional<Traced<std::string>> choice_name;
  Traced<std::string> device_class;
  Traced<std::int64_t> device_count;
  std::optional<HoleValue> selectors;
  std::optional<Traced<Json>> tolerations;
};
template <>
inline constexpr auto kHolesOf<DeviceRequestValues> = std::tuple{
    Hole{"choice_name", &DeviceRequestValues::choice_name},
    Hole{"device_class", &DeviceRequestValues::device_class},
    Hole{"device_count", &DeviceRequestValues::device_count},
    Hole{"device_selectors", &DeviceRequestValues::selectors},
    Hole{"device_tolerations", &DeviceRequestValues::tolerations},
};

struct RankedRequestsValues {
  std::vector<SubTemplate<DeviceRequestValues>> choices;
};
template <>
inline constexpr auto kHolesOf<RankedRequestsValues> = std::tuple{Hole{"choices", &RankedRequestsValues::choices}};

struct ClaimValues {
  Traced<std::string> name;
  std::optional<SubTemplate<DeviceRequestValues>> exact_request;     // either this …
  std::optional<SubTemplate<RankedRequestsValues>> ranked_requests;  // … or this
  std::optional<Traced<Json>> constraints;
};
template <>
inline constexpr auto kHolesOf<ClaimValues> = std::tuple{
    Hole{"name", &ClaimValues::name},
    Hole{"exact_request", &ClaimValues::exact_request},
    Hole{"ranked_requests", &ClaimValues::ranked_requests},
    Hole{"device_constraints", &ClaimValues::constraints},
};

struct ComputeDomainValues {
  Traced<std::string> channel_template;
};
template <>
inline constexpr auto kHolesOf<ComputeDomainValues> =
    std::tuple{Hole{"channel_template", &ComputeDomainValues::channel_template}};

struct PodGroupValues {
  Traced<std::int64_t> min_count;
};
template <>
inline constexpr auto kHolesOf<PodGroupValues> = std::tuple{Hole{"min_count", &PodGroupValues::min_count}};

/// All templates that are filled, with the holes that they may name: what lint compares them with.
[[nodiscard]] std::vector<TemplateSchema> template_schemas();

}  // namespace inference::render
