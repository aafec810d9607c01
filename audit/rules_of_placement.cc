#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "audit/patch.h"
#include "audit/rules.h"
#include "base/json_members.h"

namespace inference::audit {
namespace {

/// Labels that nodes with any GPU, or with none, have too. A cluster's own label may name a pool of one product.
bool says_nothing_of_product(std::string_view key) {
  static constexpr std::array kKeys = {"nvidia.com/gpu.present",
                                       "nvidia.com/gpu",
                                       "nvidia.com/gpu.count",
                                       "nvidia.com/gpu.replicas",
                                       "nvidia.com/gpu.sharing-strategy",
                                       "nvidia.com/mig.strategy",
                                       "nvidia.com/mig.capable",
                                       "nvidia.com/mps.capable",
                                       "feature.node.kubernetes.io/pci-10de.present",
                                       "karpenter.sh/capacity-type",
                                       "eks.amazonaws.com/capacityType",
                                       "cloud.google.com/gke-spot",
                                       "cloud.google.com/gke-accelerator-count",
                                       "cloud.google.com/gke-gpu"};
  static constexpr std::array kPrefixes = {
      "kubernetes.io/os",         "kubernetes.io/arch",      "beta.kubernetes.io/os",
      "beta.kubernetes.io/arch",  "topology.kubernetes.io/", "failure-domain.beta.kubernetes.io/",
      "node-role.kubernetes.io/", "nvidia.com/cuda.",        "nvidia.com/gpu.deploy."};
  return std::ranges::any_of(kKeys, [&](const char* known) { return key == known; }) ||
         std::ranges::any_of(kPrefixes, [&](const char* prefix) { return key.starts_with(prefix); });
}

bool pins(std::string_view key, std::string_view value) {
  // `accelerator: nvidia` tells the maker, `accelerator: nvidia-h100` the product.
  const bool any_value = value == "true" || value == "nvidia" || value == "amd" || value == "gpu" || value.empty();
  const bool of_gpus = key.find("gpu") != std::string_view::npos || key.find("accelerator") != std::string_view::npos;
  return !says_nothing_of_product(key) && !(of_gpus && any_value);
}

bool term_pins(const Json& term) {
  const auto expression_pins = [](const Json& expression) {
    const std::string how = text_at(expression, "operator");
    const Json& values = member(expression, "values");
    const std::string first =
        values.is_array() && !values.empty() && values[0].is_string() ? values[0].get<std::string>() : "";
    return (how == "In" || how == "Gt" || how == "Lt") && pins(text_at(expression, "key"), first);
  };
  const Json& expressions = member(term, "matchExpressions");
  const Json& fields = member(term, "matchFields");
  return (expressions.is_array() && std::ranges::any_of(expressions, expression_pins)) ||
         (fields.is_array() && !fields.empty());
}

/// Whether the pod says on which product it runs. Terms of an affinity are alternatives: each has to.
bool pins_nodes(const PodTemplate& pod) {
  const Json& spec = pod.spec();
  if (!text_at(spec, "nodeName").empty()) return true;
  const Json& selector = member(spec, "nodeSelector");
  if (selector.is_object()) {
    for (const auto& [key, value] : selector.items()) {
      if (value.is_string() && pins(key, value.get_ref<const std::string&>())) return true;
    }
  }
  const Json& required =
      member(member(member(spec, "affinity"), "nodeAffinity"), "requiredDuringSchedulingIgnoredDuringExecution");
  const Json& terms = member(required, "nodeSelectorTerms");
  return terms.is_array() && !terms.empty() && std::ranges::all_of(terms, term_pins);
}

/// Whether the pod's nodes are chosen by what it asks of them, or by its claims. What a claim asks for may not be
/// known.
bool is_placed(const Subject& subject, const PodTemplate& pod) {
  return pins_nodes(pod) || std::ranges::any_of(subject.containers, [&](const GpuContainer& gpu) {
           return gpu.pod == &pod && std::ranges::any_of(gpu.devices.claims, [](const DeviceClaim& claim) {
                    return claim.pins || claim.requests == nullptr;
                  });
         });
}

/// The taint of the nodes whose GPUs a container asks for.
std::string taint_of(const Devices& devices) {
  const bool amd =
      std::ranges::any_of(devices.resources, [](const std::string& name) { return name.starts_with("amd.com/"); }) ||
      std::ranges::any_of(devices.claims, [](const DeviceClaim& claim) {
        return std::ranges::find(claim.classes, "gpu.amd.com") != claim.classes.end();
      });
  return amd ? "amd.com/gpu" : "nvidia.com/gpu";
}

bool tolerates(const PodTemplate& pod, const std::string& taint) {
  const Json& tolerations = member(pod.spec(), "tolerations");
  return tolerations.is_array() && std::ranges::any_of(tolerations, [&](const Json& toleration) {
           const std::string key = text_at(toleration, "key");
           const std::string effect = text_at(toleration, "effect");
           const bool all = key.empty() && text_at(toleration, "operator") == "Exists";
           return (all || key == taint) && (effect.empty() || effect == "NoSchedule");
         });
}

/// Whether an int-or-percent is more than none.
bool is_positive(const Json& amount) {
  if (amount.is_number()) return amount > 0;
  const std::string* text = amount.get_ptr<const std::string*>();
  return text != nullptr && std::ranges::any_of(*text, [](char c) { return c >= '1' && c <= '9'; });
}

/// Where each kind says how many pods a rolling update may add.
std::string surge_place(const std::string& kind) {
  if (kind == "Deployment") return "/spec/strategy/rollingUpdate";
  if (kind == "DaemonSet") return "/spec/updateStrategy/rollingUpdate";
  if (kind == "LeaderWorkerSet") return "/spec/rolloutStrategy/rollingUpdateConfiguration";
  return {};
}

}  // namespace

Founds gpu_node_selection(const Subject& subject) {
  Founds found;
  if (subject.queued) return found;
  for (const PodTemplate* pod : subject.pods) {
    if (is_placed(subject, *pod)) continue;
    found.push_back({.pointer = pod->spec_pointer() + "/nodeSelector",
                     .message = "the pod runs on whatever GPU is free: memory, links and speed are not those it was "
                                "sized for",
                     .fix = "select the product: nvidia.com/gpu.product, or the pool's own label"});
  }
  return found;
}

Founds gpu_toleration(const Subject& subject) {
  Founds found;
  if (subject.queued) return found;
  for (const PodTemplate* pod : subject.pods) {
    const auto gpu = std::ranges::find(subject.containers, pod, &GpuContainer::pod);
    const std::string taint = taint_of(gpu->devices);
    if (tolerates(*pod, taint)) continue;
    PatchWriter patch(subject.object());
    const std::string place = pod->spec_pointer() + "/tolerations";
    patch.append(place, {{"key", taint}, {"operator", "Exists"}, {"effect", "NoSchedule"}});
    // Managed clusters add it to what asks for GPUs; where nothing selects the nodes either, nobody thought of them.
    const bool alone = is_placed(subject, *pod);
    found.push_back({.pointer = place,
                     .message = "GPU nodes that are tainted " + taint + " do not take the pod" +
                                (alone ? ", unless the cluster adds the toleration" : ""),
                     .fix = "tolerate " + taint + " with operator Exists and effect NoSchedule",
                     .patch = patch.take(),
                     .severity = alone ? std::optional(Severity::kInfo) : std::nullopt});
  }
  return found;
}

Founds rollout_surge(const Subject& subject) {
  Founds found;
  const std::string& kind = subject.workload->kind;
  const std::string place = surge_place(kind);
  if (place.empty()) return found;
  const Json& spec = member(subject.object(), "spec");
  const bool deployment = kind == "Deployment";
  const Json& strategy = member(spec, deployment            ? "strategy"
                                      : kind == "DaemonSet" ? "updateStrategy"
                                                            : "rolloutStrategy");
  const std::string type = text_at(strategy, "type");
  if (type == "Recreate" || type == "OnDelete") return found;
  const Json& update = member(strategy, kind == "LeaderWorkerSet" ? "rollingUpdateConfiguration" : "rollingUpdate");
  const Json& surge = member(update, "maxSurge");
  const bool defaulted = surge.is_null() && deployment;
  if (!defaulted && !is_positive(surge)) return found;
  PatchWriter patch(subject.object());
  Json wanted = update.is_object() ? update : Json::object();
  wanted["maxSurge"] = 0;
  if (!is_positive(member(wanted, "maxUnavailable"))) wanted["maxUnavailable"] = 1;
  if (deployment && strategy.is_object() && type.empty()) patch.set("/spec/strategy/type", "RollingUpdate");
  if (deployment && !strategy.is_object()) {
    patch.set("/spec/strategy", {{"type", "RollingUpdate"}, {"rollingUpdate", std::move(wanted)}});
  } else {
    patch.set(place, std::move(wanted));
  }
  found.push_back(
      {.pointer = place + "/maxSurge",
       .message = (defaulted ? std::string("maxSurge is Kubernetes' default of 25%")
                             : "maxSurge is " + (surge.is_string() ? surge.get<std::string>() : surge.dump())) +
                  ": a rollout first needs GPUs that nobody uses, and waits for ever where there are none",
       .fix = "set maxSurge 0 and maxUnavailable 1",
       .patch = patch.take()});
  return found;
}

}  // namespace inference::audit
