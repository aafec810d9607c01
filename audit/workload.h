#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace inference::audit {

/// A container of a pod template. `json` lives as long as the object that it was read from.
struct Container {
  enum class Kind { kMain, kInit, kSidecar };

  Kind kind = Kind::kMain;
  std::string pointer;  // "/spec/template/spec/containers/0"
  const Json* json = nullptr;

  [[nodiscard]] std::string name() const;
  /// "container vllm", "init container wait", "sidecar proxy".
  [[nodiscard]] std::string title() const;
  /// The amount of a resource as it is written, in limits or in requests; empty when it is not there.
  [[nodiscard]] std::string limit(std::string_view resource) const;
  [[nodiscard]] std::string request(std::string_view resource) const;
};

/// What a pod template is for in its workload.
enum class Role {
  kServer,  // all there is: serves, unless its command says otherwise
  kLeader,  // the pod of a group that serves
  kWorker,  // the other pods of a group
  kTask,    // runs to its end (a Job's)
};

/// One pod template of a workload; a Pod is its own.
struct PodTemplate {
  Role role = Role::kServer;
  std::string pointer;  // of what holds metadata and spec: "/spec/template", "" for a Pod
  const Json* json = nullptr;
  std::vector<Container> containers;  // init containers first

  [[nodiscard]] const Json& metadata() const;
  [[nodiscard]] const Json& spec() const;
  [[nodiscard]] std::string spec_pointer() const { return pointer + "/spec"; }
};

/// A view of a workload of whatever kind as pod templates. Holds the object that its parts point into.
struct Workload {
  Object object;
  std::string api_version, kind, ns, name;
  std::vector<PodTemplate> templates;  // of a LeaderWorkerSet: the leader's first, where it has its own
  std::int64_t replicas = 1;           // pods, or groups, that run at once; 2 stands for a DaemonSet's unknown number
  std::int64_t group_size = 1;         // pods of a LeaderWorkerSet's group

  /// "Deployment llm/llama".
  [[nodiscard]] std::string title() const;
};

/// The kinds that are read: Pod, Deployment, StatefulSet, DaemonSet, ReplicaSet, Job, CronJob, LeaderWorkerSet.
[[nodiscard]] bool is_workload_kind(std::string_view kind);

/// Nothing for other kinds, and where no pod template stands where it should. Whatever the object holds, nothing is
/// thrown: what is not of the expected type counts as absent.
[[nodiscard]] std::optional<Workload> read_workload(const Object& object);

}  // namespace inference::audit
