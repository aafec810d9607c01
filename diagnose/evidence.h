#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace inference::diagnose {

/// A part that could not be read, and why.
struct Unread {
  std::string part;  // "nodes"
  std::string why;
};

/// What a cluster shows of one InferenceDeployment, as its API server answered. Everything but names may be absent.
struct Evidence {
  std::string ns;
  std::string name;
  Json object;              // the InferenceDeployment; null: there is none
  Json workload;            // its Deployment or LeaderWorkerSet; null: there is none
  std::vector<Json> pods;   // by name
  std::vector<Json> nodes;  // all of the cluster
  std::vector<Json> pod_groups;
  std::vector<Json> events;  // warnings about it and what belongs to it, oldest first
  std::vector<Unread> unread;

  /// The same as one document, and back; what is odd in it is left out.
  [[nodiscard]] Json to_json() const;
  [[nodiscard]] static Evidence from_json(const Json& document);

  /// "llm/m".
  [[nodiscard]] std::string title() const { return ns + "/" + name; }
  /// Status, reason and message of a condition of the object; empty where there is none.
  [[nodiscard]] std::string condition(std::string_view type, const char* field) const;
  /// An integer of the object, e.g. "/status/gpusPerPod"; 0 where there is none.
  [[nodiscard]] std::int64_t number(const char* pointer) const;
  [[nodiscard]] std::string text(const char* pointer) const;
};

/// Reads of a pod, lenient.
[[nodiscard]] std::string name_of(const Json& object);
[[nodiscard]] std::string node_of(const Json& pod);  // empty: none yet
[[nodiscard]] bool is_leaving(const Json& object);
[[nodiscard]] bool is_ready(const Json& pod);
[[nodiscard]] bool has_ended(const Json& pod);  // its phase is Failed or Succeeded
/// Why the scheduler has found no node for the pod; empty when it has, or has not said.
[[nodiscard]] std::string refusal_of(const Json& pod);
/// `m-0`, the group of a LeaderWorkerSet that the pod is of; empty where it is of none.
[[nodiscard]] std::string group_of(const Json& pod);

}  // namespace inference::diagnose
