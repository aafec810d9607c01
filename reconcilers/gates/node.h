#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "crd/amounts.h"

namespace inference::reconcilers::gates {

/// What a pod asks of the node that it is put on.
struct Needs {
  crd::Amounts requests;
  Json selector = Json::object();  // spec.nodeSelector
  Json terms = nullptr;            // nodeSelectorTerms of the required node affinity; null: none
  Json tolerations = Json::array();
};
[[nodiscard]] Needs needs_of(const Json& pod);

/// A node, and how much room it has.
struct Node {
  std::string name;
  Json labels = Json::object();
  Json taints = Json::array();
  bool open = false;       // Ready, and not cordoned
  crd::Amounts free = {};  // what no pod has and none is promised
  crd::Amounts most = {};  // what would be free without any pod but those of DaemonSets and of the kubelet itself
};

/// The node without pods.
[[nodiscard]] Node read_node(const Json& object);

/// Takes what the pods that are bound to `nodes` (ordered by name) and have not ended request. Pods on their way out
/// still have it.
void occupy(std::vector<Node>& nodes, const Json& pod);

/// Whether the scheduler would consider `node` for such a pod, whatever room it has: it is open, its taints are
/// tolerated, node selector and required node affinity match. Other rules (volumes, ports, spreading, affinity between
/// pods) are not looked at.
[[nodiscard]] bool admits(const Node& node, const Needs& needs);

/// What is read of nodes, for a FieldMask.
[[nodiscard]] std::vector<std::string> fields_of_nodes();
/// What `occupy` reads of pods, for a FieldMask.
[[nodiscard]] std::vector<std::string> fields_of_occupants();

}  // namespace inference::reconcilers::gates
