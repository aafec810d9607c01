#include <algorithm>
#include <array>
#include <string>

#include "audit/patch.h"
#include "audit/rules.h"
#include "base/json_members.h"

namespace inference::audit {
namespace {

constexpr auto kNccl = "NCCL_SOCKET_IFNAME";
constexpr auto kGloo = "GLOO_SOCKET_IFNAME";
constexpr auto kExclusion = "^lo,docker,veth";

/// Resources by which clusters offer RDMA: device plugins name them freely, but by what they are.
bool is_fast_network(std::string_view resource) {
  static constexpr std::array kParts = {"rdma", "hca", "roce", "infiniband", "/ib", "efa", "hostdev", "sriov", "mlnx"};
  return resource.find('/') != std::string_view::npos &&
         std::ranges::any_of(kParts, [&](const char* part) { return resource.contains(part); });
}

bool has_fast_network(const GpuContainer& gpu) {
  for (const char* list : {"limits", "requests"}) {
    const Json& amounts = member(member(*gpu.container->json, "resources"), list);
    if (!amounts.is_object()) continue;
    for (const auto& [resource, amount] : amounts.items()) {
      if (is_fast_network(resource)) return true;
    }
  }
  return !gpu.devices.other_claims.empty();
}

/// Whether the pod gets the fabric otherwise: the node's devices, or networks that are attached to it. And where a
/// claim is not known, it may hold a card.
bool may_have_fast_network(const GpuContainer& gpu) {
  const Json& volumes = member(gpu.pod->spec(), "volumes");
  const bool devices = volumes.is_array() && std::ranges::any_of(volumes, [](const Json& volume) {
                         return text_at(member(volume, "hostPath"), "path").starts_with("/dev/infiniband");
                       });
  const bool privileged = member(member(*gpu.container->json, "securityContext"), "privileged") == true &&
                          member(gpu.pod->spec(), "hostNetwork") == true;
  const Json& annotations = member(gpu.pod->metadata(), "annotations");
  const bool attached = !text_at(annotations, "networking.gke.io/interfaces").empty() ||
                        !text_at(annotations, "k8s.v1.cni.cncf.io/networks").empty();
  const bool unknown =
      std::ranges::any_of(gpu.devices.claims, [](const DeviceClaim& claim) { return claim.requests == nullptr; });
  return devices || privileged || attached || unknown;
}

/// One interface by its full name: no exclusion, no list, and no mere beginning of names (`eth`).
bool is_single_interface(const std::string& value) {
  if (value.empty() || value.front() == '^' || value.contains(",") || value.contains("$")) return false;
  return value.front() == '=' || value == "lo" ||
         std::ranges::any_of(value, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

Founds rdma(const Subject& subject) {
  Founds found;
  if (!subject.multi_node) return found;
  for (const GpuContainer& gpu : subject.containers) {
    if (has_fast_network(gpu) || may_have_fast_network(gpu)) continue;
    found.push_back({.pointer = gpu.pointer() + "/resources/limits",
                     .message = "GPUs of several nodes exchange data over TCP: no RDMA device is asked for",
                     .fix = "ask for the cluster's RDMA resource (rdma/…, vpc.amazonaws.com/efa), with IPC_LOCK"});
  }
  return found;
}

Founds nccl_interface(const Subject& subject) {
  Founds found;
  if (!subject.multi_node) return found;
  for (const GpuContainer& gpu : subject.containers) {
    const auto variable = find_variable(*gpu.container, kNccl);
    if (!variable) {
      if (may_have_variable(*gpu.container, gpu.engine, kNccl)) continue;
      PatchWriter patch(subject.object());
      patch.append(gpu.pointer() + "/env", {{"name", kNccl}, {"value", kExclusion}});
      found.push_back(
          {.pointer = gpu.pointer() + "/env",
           .message = std::string(kNccl) + " is not set: NCCL may choose an interface that other nodes do not reach",
           .fix = std::string("exclude what is local: ") + kExclusion,
           .patch = patch.take()});
    } else if (variable->value && is_single_interface(*variable->value)) {
      PatchWriter patch(subject.object());
      patch.set(variable->pointer + "/value", kExclusion);
      found.push_back({.pointer = variable->pointer + "/value",
                       .message = "interface " + *variable->value +
                                  " is written down: nodes that name theirs otherwise "
                                  "cannot join",
                       .fix = std::string("exclude what is local instead: ") + kExclusion,
                       .patch = patch.take()});
    }
  }
  return found;
}

Founds gloo_interface(const Subject& subject) {
  Founds found;
  const auto add = [&](std::string pointer, const std::string& value, Json patch) {
    found.push_back({.pointer = std::move(pointer),
                     .message = "Gloo takes " + value +
                                " for the name of an interface, finds none and ends the engine: only NCCL knows ^",
                     .fix = std::string("leave ") + kGloo + " out, or give it one name",
                     .patch = std::move(patch)});
  };
  for (const GpuContainer& gpu : subject.containers) {
    const auto variable = find_variable(*gpu.container, kGloo);
    if (variable && variable->value && variable->value->starts_with('^')) {
      PatchWriter patch(subject.object());
      patch.remove(variable->pointer);
      add(variable->pointer + "/value", *variable->value, patch.take());
    }
    const std::string excludes = std::string(kGloo) + "=^";
    for (const Word& word : gpu.engine.words) {
      if (word.text.starts_with(excludes)) add(word.pointer, word.text.substr(excludes.size() - 1), Json::array());
    }
  }
  return found;
}

}  // namespace inference::audit
