#pragma once

#include <string>

#include "base/json.h"
#include "render/labels.h"

/// Nodes and pods as the API server shows them, for tests.
namespace inference::reconcilers::gates {

inline Json node_object(const std::string& name, int gpus = 8, const std::string& product = "H100") {
  return {{"metadata", {{"name", name}, {"labels", {{"product", product}, {"kubernetes.io/hostname", name}}}}},
          {"spec", {{"taints", {{{"key", "nvidia.com/gpu"}, {"value", "present"}, {"effect", "NoSchedule"}}}}}},
          {"status",
           {{"allocatable",
             {{"cpu", "64"}, {"memory", "512Gi"}, {"pods", "110"}, {"nvidia.com/gpu", std::to_string(gpus)}}},
            {"conditions", {{{"type", "Ready"}, {"status", "True"}}}}}}};
}

inline Json plain_pod(const std::string& name, int gpus, const std::string& node = {}) {
  Json pod = {{"metadata", {{"name", name}, {"namespace", "llm"}, {"uid", "uid-" + name}}},
              {"spec",
               {{"containers",
                 {{{"name", "engine"},
                   {"resources", {{"requests", {{"cpu", "1"}, {"nvidia.com/gpu", std::to_string(gpus)}}}}}}}},
                {"tolerations", {{{"key", "nvidia.com/gpu"}, {"operator", "Exists"}}}}}},
              {"status", {{"phase", "Pending"}}}};
  if (!node.empty()) pod["spec"]["nodeName"] = node;
  return pod;
}

/// A pod of group `index` of LeaderWorkerSet `set`, gated; worker 0 is the leader.
inline Json member_pod(const std::string& set, int index, int worker, int size, int gpus = 8,
                       const std::string& created = "2026-11-30T10:00:00Z", const std::string& product = "H100") {
  const std::string leader = set + "-" + std::to_string(index);
  Json pod = plain_pod(worker == 0 ? leader : leader + "-" + std::to_string(worker), gpus);
  pod["metadata"]["creationTimestamp"] = created;
  pod["metadata"]["labels"] = {{render::kNameLabel, set},
                               {render::kGangLabel, render::kGangLabelGates},
                               {render::kLwsNameLabel, set},
                               {render::kLwsGroupIndexLabel, std::to_string(index)}};
  pod["metadata"]["annotations"] = {{render::kLwsSizeAnnotation, std::to_string(size)}};
  pod["spec"]["schedulingGates"] = {{{"name", render::kGangGate}}};
  pod["spec"]["nodeSelector"] = {{"product", product}};
  return pod;
}

}  // namespace inference::reconcilers::gates
