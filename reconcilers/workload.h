#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "topology/verdict.h"

namespace inference::reconcilers {

/// What a Deployment or LeaderWorkerSet says of itself, in one vocabulary. Counts are replicas: pods of a Deployment,
/// groups of a LeaderWorkerSet.
struct Workload {
  bool exists = false;
  bool current = false;  // its controller has seen the newest spec: the counts below speak of it
  std::string api_version, kind, name;
  std::int64_t wanted = 0;
  std::int64_t replicas = 0;  // of any revision
  std::int64_t updated = 0;   // of the newest revision
  std::int64_t ready = 0;
  std::int64_t available = 0;  // ready for minReadySeconds; the same as ready for a LeaderWorkerSet
  std::int64_t max_unavailable = 1;
  bool paused = false;                           // by hand: its controller makes no new pods
  std::optional<std::string> deadline_exceeded;  // the Deployment controller's message
  std::optional<std::string> create_failed;      // why no pod can be made: quota, Pod Security, a missing account

  /// Everything is of the newest revision and serves.
  [[nodiscard]] bool settled() const {
    return exists && current && replicas == wanted && updated == wanted && ready == wanted && available == wanted;
  }
};

/// Reads a Deployment or LeaderWorkerSet; null gives one that does not exist.
[[nodiscard]] Workload read_workload(const Json* object);

/// Something that keeps a pod from serving.
struct PodProblem {
  enum class Kind {
    kUnschedulable,    // the scheduler found no node
    kWaitingForGang,   // not looked at until the whole group is there: upstream gives neither condition nor event; or
                       // held by our scheduling gate
    kWaitingForQuota,  // held by Kueue
    kImage,            // the image can't be pulled
    kConfig,           // the kubelet can't create the container (a missing Secret or ConfigMap key …)
    kCrash,            // the engine has ended before it ever served, or a container ends again and again
  };
  Kind kind;
  std::string pod;
  std::string container;  // empty for scheduling
  std::string message;
  std::string reason = {};    // of kCrash: of a condition
  std::string revision = {};  // of the pod's template
};

/// "pod m-0, container engine: MESSAGE".
[[nodiscard]] std::string where(const PodProblem& problem);

/// How a pod's GPUs are linked, by its own report.
struct PodTopology {
  std::string pod;
  std::optional<topology::Verdict> verdict;  // none: it has not reported yet
  bool held = false;                         // its engine is not started
};

/// What the pods of one InferenceDeployment show.
struct Pods {
  std::int64_t total = 0;                  // neither terminating nor finished
  std::int64_t placed = 0;                 // of those, bound to a node
  std::vector<PodProblem> problems;        // by pod name
  std::vector<PodTopology> topology = {};  // of the pods that are checked, by pod name
  std::string newest = {};                 // the newest of their revisions; empty when not known

  [[nodiscard]] const PodProblem* first(PodProblem::Kind kind) const;
};

/// The revision of the template that a pod was made from, by its controller's label; empty when it has none.
[[nodiscard]] std::string revision_of(const Json& pod);
/// Which group of a LeaderWorkerSet a pod is of; nothing when it is of none.
[[nodiscard]] std::optional<std::int64_t> group_index(const Json& pod);

/// What `read_pods` and `owner_of_pod` read of a pod, for a FieldMask: the rest need not be cached.
[[nodiscard]] std::vector<std::string> fields_of_pods();
[[nodiscard]] Pods read_pods(const std::vector<Object>& pods);

}  // namespace inference::reconcilers
