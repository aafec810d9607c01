#include "render/decide/network.h"

#include <utility>

namespace inference::render {

namespace {

// What every node has beside its data network: loopback, Docker's bridge and the host ends of pods. A name such as eth0
// would be wrong on the next node type (nccl#286).
constexpr const char* kExcludedInterfaces = "^lo,docker,veth";

std::vector<EnvironmentEntry> interface_environment(const Settings& settings, const Sizing& sizing) {
  if (!settings.interfaces || settings.interfaces->value.empty()) {
    if (sizing.nodes.value == 1) return {};
    // Gloo gets nothing: it takes a concrete name only, and finds the route by itself when there is none
    // (aws-do-eks#51).
    return {constant_entry("NCCL_SOCKET_IFNAME", kExcludedInterfaces,
                           {.rule = "nccl_interfaces",
                            .text = "everything but loopback, bridges and other pods: no name fits every node",
                            .inputs = {"spec.network.interfaces"},
                            .source = {}})};
  }
  std::string all;
  for (const std::string& name : settings.interfaces->value) {
    if (!all.empty()) all += ',';
    all += name;
  }
  const bool several = settings.interfaces->value.size() > 1;
  Reason nccl = settings.interfaces->reason("nccl_interfaces");
  Reason gloo = settings.interfaces->reason("gloo_interface");
  if (several) gloo.text = "the first of those named: Gloo takes one interface, only NCCL understands lists";
  return {constant_entry("NCCL_SOCKET_IFNAME", std::move(all), std::move(nccl)),
          constant_entry("GLOO_SOCKET_IFNAME", settings.interfaces->value.front(), std::move(gloo))};
}

/// The patch that puts the pod on the node's network, if any. There a pod reaches what is meant for the node alone,
/// past every NetworkPolicy, so it is the platform team's to give.
const Setting<Json>* host_network(const Settings& settings, Findings& findings) {
  const Setting<Json>* found = nullptr;
  bool given = false;
  for (const auto& patch : settings.pod_templates) {
    const auto spec = patch.value.find("spec");
    if (spec == patch.value.end() || !spec->is_object()) continue;
    const auto flag = spec->find("hostNetwork");
    if (flag == spec->end()) continue;
    found = *flag == true ? &patch : nullptr;
    given = given || (*flag == true && patch.level != Level::kSpec);
  }
  if (found != nullptr && !given) {
    findings.refuse(
        "NotAllowed", found->path + ".spec.hostNetwork",
        "the node's network is given by an InferenceProfile: ask for one whose defaults.podTemplate has it");
  }
  return found;
}

}  // namespace

NetworkChoice decide_network(const Settings& settings, const Sizing& sizing, Findings& findings) {
  NetworkChoice choice;
  choice.environment = interface_environment(settings, sizing);
  if (settings.rdma) {
    choice.capabilities = {.value = {{"add", {"IPC_LOCK"}}}, .reason = settings.rdma->reason("rdma_capability")};
    choice.capabilities->reason.text = "RDMA verbs lock memory";
  }
  if (const auto* patch = host_network(settings, findings)) {
    choice.dns_policy = {
        .value = "ClusterFirstWithHostNet",
        .reason = {.rule = "dns_policy",
                   .text = "the pod uses the node's network, and must still resolve names of the cluster",
                   .inputs = {patch->path + ".spec.hostNetwork"},
                   .source = {}}};
  }
  return choice;
}

}  // namespace inference::render
