#include <algorithm>
#include <map>
#include <set>

#include "base/json_members.h"
#include "base/parse_integer.h"
#include "base/wording.h"
#include "diagnose/rules.h"

namespace inference::diagnose {
namespace {

using Found = std::optional<Finding>;

/// The pods for which the scheduler has found no node, with its words.
std::vector<std::pair<const Json*, std::string>> refused_pods(const Evidence& in) {
  std::vector<std::pair<const Json*, std::string>> pods;
  for (const Json& pod : in.pods) {
    if (std::string why = refusal_of(pod); !why.empty() && !is_leaving(pod)) pods.emplace_back(&pod, std::move(why));
  }
  return pods;
}

/// Those of them whose refusal speaks of `words`.
std::vector<std::pair<const Json*, std::string>> refused_for(const Evidence& in, std::string_view words) {
  auto pods = refused_pods(in);
  std::erase_if(pods, [words](const auto& pod) { return pod.second.find(words) == std::string::npos; });
  return pods;
}

std::int64_t without_node(const Evidence& in) {
  return std::ranges::count_if(
      in.pods, [](const Json& pod) { return node_of(pod).empty() && !is_leaving(pod) && !has_ended(pod); });
}

std::string how_many(const Evidence& in) {
  const std::int64_t all =
      std::ranges::count_if(in.pods, [](const Json& pod) { return !is_leaving(pod) && !has_ended(pod); });
  const std::int64_t waiting = without_node(in);
  return std::to_string(waiting) + " of " + counted(all, "pod") + (waiting == 1 ? " has no node" : " have no node");
}

/// The GPU resource that pods ask for, with what a node has of it.
std::string resource_of(const Evidence& in) {
  const std::string named = in.text("/status/resolved/accelerator/resourceName");
  return named.empty() ? "nvidia.com/gpu" : named;
}

std::int64_t allocatable(const Json& node, const std::string& resource) {
  const std::string text = text_at(member(member(node, "status"), "allocatable"), resource.c_str());
  return parse_integer<std::int64_t>(text).value_or(0);
}

bool matches_selector(const Json& pod, const Json& node) {
  const Json& labels = member(member(node, "metadata"), "labels");
  const Json& selector = member(member(pod, "spec"), "nodeSelector");
  if (!selector.is_object()) return true;
  for (const auto& [key, value] : selector.items()) {
    if (member(labels, key.c_str()) != value) return false;
  }
  return true;
}

bool tolerates(const Json& pod, const Json& taint) {
  for (const Json& toleration : member(member(pod, "spec"), "tolerations")) {
    const std::string key = text_at(toleration, "key");
    const std::string effect = text_at(toleration, "effect");
    const bool same_key = key.empty() || key == text_at(taint, "key");
    const bool same_effect = effect.empty() || effect == text_at(taint, "effect");
    const bool same_value =
        text_at(toleration, "operator") == "Exists" || text_at(toleration, "value") == text_at(taint, "value");
    if (same_key && same_effect && same_value) return true;
  }
  return false;
}

/// "key=value:NoSchedule" of the taints that keep the pod from nodes that it could use otherwise.
std::set<std::string> taints_in_the_way(const Evidence& in, const Json& pod) {
  std::set<std::string> taints;
  for (const Json& node : in.nodes) {
    if (!matches_selector(pod, node)) continue;
    for (const Json& taint : member(member(node, "spec"), "taints")) {
      if (text_at(taint, "effect") == "PreferNoSchedule" || tolerates(pod, taint)) continue;
      const std::string value = text_at(taint, "value");
      taints.insert(text_at(taint, "key") + (value.empty() ? "" : "=" + value) + ":" + text_at(taint, "effect"));
    }
  }
  return taints;
}

/// The scheduler's sentence up to what it says of preemption and claims.
std::string short_refusal(const std::string& why) {
  const std::size_t end = std::min({why.find(" preemption:"), why.find(" no new claims"), why.find(". "), why.size()});
  std::string text = why.substr(0, end);
  while (text.ends_with('.') || text.ends_with(',') || text.ends_with(' ')) text.pop_back();
  return text;
}

Found volumes(const Evidence& in) {
  const auto missing = refused_for(in, "persistentvolumeclaim");
  const auto unbound = refused_for(in, "unbound immediate PersistentVolumeClaims");
  if (missing.empty() && unbound.empty()) return std::nullopt;
  const auto& [pod, why] = missing.empty() ? unbound.front() : missing.front();
  return Finding{how_many(in) + ": " + short_refusal(why),
                 missing.empty() ? "look why its claim is not bound: kubectl describe pvc -n " + in.ns
                                 : "create the claim that spec.model.uri names in namespace " + in.ns +
                                       ", or correct spec.model.uri"};
}

Found quota(const Evidence& in) {
  const auto waits = [](const Json& pod) {
    const Json& gates = member(member(pod, "spec"), "schedulingGates");
    return std::ranges::any_of(gates,
                               [](const Json& gate) { return text_at(gate, "name") == "kueue.x-k8s.io/admission"; });
  };
  const bool told = in.condition("Scheduled", "reason") == "WaitingForQuota";
  if (!told && std::ranges::none_of(in.pods, waits)) return std::nullopt;
  return Finding{told ? in.condition("Scheduled", "message") : how_many(in) + ": Kueue has not admitted it yet",
                 "look at its queue: kubectl get workloads.kueue.x-k8s.io -n " + in.ns +
                     "; free quota, or choose another spec.scheduling.queue"};
}

/// Tensor parallelism over nodes was meant, and a pipeline over them was asked for by saying nothing.
std::string step_for_fewer_gpus(const Evidence& in, std::int64_t most) {
  const std::int64_t tensor = in.number("/spec/parallelism/tensor");
  const std::int64_t nodes = in.number("/spec/nodes");
  const bool silent = in.number("/spec/parallelism/pipeline") == 0;
  if (silent && nodes > 1 && tensor % nodes == 0 && tensor / nodes <= most) {
    return "set spec.parallelism.pipeline to 1: then the " + std::to_string(tensor) +
           " GPUs of one tensor-parallel model spread over " + std::to_string(nodes) + " nodes, " +
           counted(tensor / nodes, "GPU") + " a pod (pipeline defaults to nodes)";
  }
  return "ask for at most " + counted(most, "GPU") +
         " a pod: fewer in spec.parallelism.tensor, or more spec.nodes with spec.parallelism.pipeline 1";
}

Found more_than_any_node_has(const Evidence& in) {
  const std::int64_t wanted = in.number("/status/gpusPerPod");
  if (in.nodes.empty() || without_node(in) == 0 || wanted == 0) return std::nullopt;
  std::int64_t most = 0;
  for (const Json& node : in.nodes) most = std::max(most, allocatable(node, resource_of(in)));
  if (most == 0 || wanted <= most) return std::nullopt;
  return Finding{"each pod asks for " + counted(wanted, "GPU") + ", and no node has more than " + std::to_string(most) +
                     " " + resource_of(in),
                 step_for_fewer_gpus(in, most)};
}

/// A group of which some pods have nodes and others find none: it holds GPUs and serves nothing.
Found half_placed(const Evidence& in) {
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> groups;  // placed, refused
  for (const Json& pod : in.pods) {
    const std::string group = group_of(pod);
    if (group.empty() || is_leaving(pod)) continue;
    groups[group].first += node_of(pod).empty() ? 0 : 1;
    groups[group].second += refusal_of(pod).empty() ? 0 : 1;
  }
  const auto half =
      std::ranges::find_if(groups, [](const auto& each) { return each.second.first > 0 && each.second.second > 0; });
  if (half == groups.end()) return std::nullopt;
  const std::string gang = in.text("/status/resolved/gang");
  const std::int64_t gpus = half->second.first * std::max<std::int64_t>(in.number("/status/gpusPerPod"), 1);
  return Finding{
      "group " + half->first + " is placed in half: " + counted(half->second.first, "pod") + " of it hold" +
          (half->second.first == 1 ? "s " : " ") + counted(gpus, "GPU") + " and wait" +
          (half->second.first == 1 ? "s for " : " for ") + counted(half->second.second, "pod") + " without a node",
      "add nodes for the rest" +
          std::string(gang == "None" ? ", or set spec.scheduling.gang to Auto, which places groups whole" : "")};
}

Found insufficient_gpu(const Evidence& in) {
  const std::string resource = resource_of(in);
  const auto pods = refused_for(in, "Insufficient " + resource);
  if (pods.empty()) return std::nullopt;
  const std::int64_t each = in.number("/status/gpusPerPod");
  const std::int64_t waiting = without_node(in);
  std::string need = each > 0 ? ", which need " + counted(each, "free GPU") + " each" : "";
  if (waiting == 1 && each > 0) need = ", which needs " + counted(each, "free GPU") + " on one node";
  return Finding{
      how_many(in) + need + " (" + short_refusal(pods.front().second) + ")",
      "add " + std::string(waiting == 1 ? "a node" : "nodes") + " with " +
          (each > 0 ? counted(each, "GPU") : resource) +
          (in.number("/status/desiredReplicas") > 1 ? ", free GPUs, or lower spec.replicas" : ", or free GPUs")};
}

Found tainted(const Evidence& in) {
  const auto pods = refused_for(in, "untolerated taint");
  if (pods.empty()) return std::nullopt;
  const std::set<std::string> taints = taints_in_the_way(in, *pods.front().first);
  if (taints.empty() && pods.front().second.find("node affinity/selector") != std::string::npos) return std::nullopt;
  const std::string named = taints.empty() ? "" : ": " + joined(taints);
  return Finding{how_many(in) + ": the nodes that fit have a taint that it does not tolerate" + named,
                 "add it to spec.accelerator.tolerations, or take the taint off the nodes"};
}

Found selector_matches_nothing(const Evidence& in) {
  const auto pods = refused_for(in, "node affinity/selector");
  if (pods.empty()) return std::nullopt;
  const Json& pod = *pods.front().first;
  std::string labels;
  const Json& selector = member(member(pod, "spec"), "nodeSelector");
  if (selector.is_object()) {
    for (const auto& [key, value] : selector.items())
      labels +=
          (labels.empty() ? "" : ", ") + key + "=" + (value.is_string() ? value.get<std::string>() : value.dump());
  }
  std::set<std::string> products;
  for (const Json& node : in.nodes) {
    const std::string product = text_at(member(member(node, "metadata"), "labels"), "nvidia.com/gpu.product");
    if (!product.empty()) products.insert(product);
  }
  return Finding{how_many(in) + ": no node has the labels that its pods ask for" +
                     (labels.empty() ? "" : " (" + labels + ")") +
                     (products.empty() ? "" : "; there are nodes with " + joined(products)),
                 "correct spec.accelerator.product or the node selector in spec.podTemplate, or label the nodes"};
}

Found unschedulable(const Evidence& in) {
  const auto pods = refused_pods(in);
  if (pods.empty()) return std::nullopt;
  return Finding{how_many(in) + ": " + short_refusal(pods.front().second),
                 "change what the scheduler names, on the nodes or in the spec"};
}

Found waiting_for_gang(const Evidence& in) {
  const std::string reason = in.condition("Scheduled", "reason");
  if (in.condition("Scheduled", "status") != "False" || (reason != "WaitingForGang" && reason != "GatedTooLong"))
    return std::nullopt;
  std::string cause = in.condition("Scheduled", "message");
  for (const Json& group : in.pod_groups) {
    const std::string words = text_at(condition_of(group, "PodGroupInitiallyScheduled"), "message");
    if (text_at(condition_of(group, "PodGroupInitiallyScheduled"), "status") == "False" && !words.empty())
      cause += "; the scheduler says of group " + name_of(group) + ": " + short_refusal(words);
  }
  return Finding{std::move(cause), "add nodes until a whole group fits (" + std::to_string(in.number("/status/nodes")) +
                                       " nodes with " + counted(in.number("/status/gpusPerPod"), "free GPU") +
                                       " each), or free GPUs"};
}

Found scheduler_missing(const Evidence& in) {
  if (in.condition("Scheduled", "reason") != "SchedulerMissing") return std::nullopt;
  return Finding{in.condition("Scheduled", "message"), "install what it names, or choose another spec.scheduling.gang"};
}

}  // namespace

std::vector<Rule> rules_of_scheduling() {
  return {{"SchedulerMissing", scheduler_missing},
          {"VolumeMissing", volumes},
          {"WaitingForQuota", quota},
          {"MoreThanAnyNodeHas", more_than_any_node_has},
          {"HalfPlaced", half_placed},
          {"InsufficientGPU", insufficient_gpu},
          {"Tainted", tainted},
          {"SelectorMatchesNothing", selector_matches_nothing},
          {"WaitingForGang", waiting_for_gang},
          {"Unschedulable", unschedulable}};
}

}  // namespace inference::diagnose
