#include "reconcilers/gpus.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/json_members.h"
#include "crd/amounts.h"
#include "render/decide/claims.h"
#include "render/labels.h"

namespace inference::reconcilers {
namespace {

/// One replica: the pods of a group, or a pod that is one.
struct Replica {
  std::int64_t held = 0;
  std::optional<WallTime> bound;      // since its first pod has a node
  std::optional<WallTime> not_ready;  // since its leader has not served: by its node, else since it was made
  bool led = false;                   // its leader is there and does not serve
  bool leaving = false;
};

struct PodState {
  bool ready = false;
  std::optional<WallTime> bound, not_ready;
};

PodState state_of(const Json& pod) {
  const auto since = [](const Json& condition) { return parse_rfc3339(text_at(condition, "lastTransitionTime")); };
  const Json& placed = condition_of(pod, "PodScheduled");
  const Json& ready = condition_of(pod, "Ready");
  PodState state;
  if (text_at(placed, "status") == "True") state.bound = since(placed);
  state.ready = text_at(ready, "status") == "True";
  if (!state.ready) state.not_ready = since(ready);
  return state;
}

/// `m-0` for all pods of that group of a LeaderWorkerSet, else the pod's own name.
std::string replica_of(const Json& pod) {
  const Json& labels = member(member(pod, "metadata"), "labels");
  const std::string set = text_at(labels, render::kLwsNameLabel);
  if (set.empty()) return text_at(member(pod, "metadata"), "name");
  return set + "-" + text_at(labels, render::kLwsGroupIndexLabel);
}

bool leads(const Json& pod) {
  const std::string index = text_at(member(member(pod, "metadata"), "labels"), render::kLwsWorkerIndexLabel);
  return index.empty() || index == "0";
}

/// The names of the GPUs that were allocated to a claim: DRIVER/POOL/DEVICE.
std::vector<std::string> devices_of(const Json& claim) {
  std::vector<std::string> names;
  const Json& devices = member(member(member(claim, "status"), "allocation"), "devices");
  for (const Json& result : member(devices, "results")) {
    // A ranked choice is REQUEST/CHOICE. A ComputeDomain's channel is no GPU.
    const std::string request = text_at(result, "request");
    if (request.substr(0, request.find('/')) != render::kGpuClaim) continue;
    names.push_back(text_at(result, "driver") + "/" + text_at(result, "pool") + "/" + text_at(result, "device"));
  }
  return names;
}

std::string pod_of(const Json& claim) {
  for (const Json& owner : member(member(claim, "metadata"), "ownerReferences")) {
    if (text_at(owner, "kind") == "Pod") return text_at(owner, "name");
  }
  return {};
}

void add(const Json& pod, std::int64_t held, Replica& replica) {
  replica.leaving |= member(pod, "metadata").contains("deletionTimestamp");
  const PodState state = state_of(pod);
  if (leads(pod) && !state.ready) {
    replica.led = true;
    // One that no node has yet was made anew, maybe beside workers of before.
    replica.not_ready =
        state.not_ready ? state.not_ready : parse_rfc3339(text_at(member(pod, "metadata"), "creationTimestamp"));
  }
  if (text_at(member(pod, "spec"), "nodeName").empty()) return;
  replica.held += held;
  if (state.bound && (!replica.bound || *state.bound < *replica.bound)) replica.bound = state.bound;
}

/// For how long it has held GPUs without serving; nothing when it serves or can't be judged.
std::optional<Duration> idle(const Replica& replica, WallTime now) {
  if (replica.held == 0 || replica.leaving || !replica.led || !replica.bound) return std::nullopt;
  return now - std::max(*replica.bound, replica.not_ready.value_or(*replica.bound));
}

}  // namespace

std::vector<std::string> fields_of_claims() {
  return {"metadata.labels", "metadata.ownerReferences", "status.allocation.devices.results"};
}

Gpus read_gpus(const std::vector<Object>& pods, const std::vector<Object>& claims, std::chrono::seconds startup,
               WallTime now) {
  Gpus gpus;
  std::map<std::string, std::int64_t> claimed;  // by pod
  for (const Object& claim : claims) {
    std::vector<std::string> devices = devices_of(*claim);
    claimed[pod_of(*claim)] += static_cast<std::int64_t>(devices.size());
    std::ranges::move(devices, std::back_inserter(gpus.devices));
  }
  std::ranges::sort(gpus.devices);
  gpus.allocated = static_cast<std::int64_t>(gpus.devices.size());
  std::map<std::string, Replica> replicas;
  for (const Object& pod : pods) {
    const std::string phase = text_at(member(*pod, "status"), "phase");
    if (phase == "Succeeded" || phase == "Failed") continue;  // the node has taken its devices back
    const std::int64_t extended = crd::gpus_in(crd::requests_of(*pod));
    if (!text_at(member(*pod, "spec"), "nodeName").empty()) gpus.allocated += extended;
    const auto of_claims = claimed.find(text_at(member(*pod, "metadata"), "name"));
    add(*pod, extended + (of_claims == claimed.end() ? 0 : of_claims->second), replicas[replica_of(*pod)]);
  }
  if (startup <= std::chrono::seconds::zero()) return gpus;
  for (const auto& [name, replica] : replicas) {
    const auto waited = idle(replica, now);
    if (!waited) continue;
    if (*waited < startup) {
      gpus.until_leak = std::min(gpus.until_leak, Duration(startup) - *waited);
    } else {
      gpus.leaked += replica.held;
      gpus.leaking.push_back(name);
    }
  }
  return gpus;
}

Json to_json(const Gpus& gpus) {
  const auto first = [](const std::vector<std::string>& names) {
    return std::vector<std::string>(names.begin(),
                                    names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kMostNamed)));
  };
  return {{"requested", gpus.requested},
          {"allocated", gpus.allocated},
          {"devices", first(gpus.devices)},
          {"leaked", gpus.leaked},
          {"leaking", first(gpus.leaking)}};
}

}  // namespace inference::reconcilers
