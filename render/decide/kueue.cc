#include "render/decide/kueue.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/wording.h"

namespace inference::render {

void check_queue_name(const std::string& name, const Sizing& sizing, std::int64_t surge, Findings& findings) {
  if (sizing.nodes.value == 1) return;  // its pods get Workloads with a hash in place of what is too long
  // Kueue names a group's Workload leaderworkerset-NAME-GROUP-HASH, with five characters of a hash, and writes it into
  // a label of its pods, which holds 63.
  const std::int64_t last_group = std::max<std::int64_t>(0, sizing.replicas.value + surge - 1);
  const std::size_t longest =
      63 - std::string_view("leaderworkerset-").size() - 1 - std::to_string(last_group).size() - 1 - 5;
  if (name.size() <= longest) return;
  findings.refuse("NameTooLong", "metadata.name",
                  "has " + std::to_string(name.size()) + " characters, at most " + std::to_string(longest) +
                      " are possible with this many replicas in gang Kueue, which adds to it and writes it into a "
                      "label of 63");
}

void tell_of_queue(const Settings& settings, const QueueFacts& queue, const Json& requests, Findings& findings) {
  const std::string& path = settings.queue->path;
  if (!queue.exists) {
    findings.notice(
        "QueueNotFound", path,
        "the namespace has no LocalQueue " + settings.queue->value + ": Kueue holds every pod until there is one");
    return;
  }
  if (!queue.fault.empty()) findings.notice("QueueNotActive", path, "it admits nothing: " + queue.fault);
  if (!queue.covered) return;
  std::vector<std::string> missing;
  for (const auto& [resource, amount] : requests.items()) {
    if (!queue.covered->contains(resource)) missing.push_back(resource);
  }
  if (!missing.empty()) {
    findings.notice("QueueLacksResource", path,
                    "its ClusterQueue does not cover " + joined(missing) + ": Kueue admits nothing that asks for it");
  }
  if (settings.nodes.value == 1) return;
  if (settings.accelerator_mode.value == crd::AcceleratorMode::kDra) {
    // Kueue 0.17, keps/2941-DRA; which classes it maps stands in its own configuration, which is not ours to read.
    findings.notice("QuotaIsNoGang", path,
                    "Kueue counts devices that are claimed on no node, topologyName or not, and without its gate "
                    "DynamicResourceAllocation and a deviceClassMapping not at all: a group may hold GPUs without "
                    "being complete");
    return;
  }
  const auto flavors = queue.covered->find(settings.resource_name.value);
  if (flavors == queue.covered->end() || flavors->second.empty()) return;
  findings.notice("QuotaIsNoGang", path,
                  "ResourceFlavor " + joined(flavors->second) +
                      " of the queue has no topologyName: Kueue counts quota there and no nodes, so a group may hold "
                      "GPUs without being complete");
}

}  // namespace inference::render
