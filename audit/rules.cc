#include "audit/rules.h"

#include <algorithm>

namespace inference::audit {
namespace {

std::vector<Rule> all_rules() {
  using enum Severity;
  return {
      {"qos-guaranteed", kError, "a container's requests differ from its limits, or are missing",
       "Only pods whose every container has equal requests and limits are Guaranteed: they are evicted last and can "
       "have CPUs of their own.",
       qos_guaranteed},
      {"integer-cpu", kError, "the engine asks for a fraction of a CPU",
       "The kubelet's static policy gives exclusive CPUs only to containers with whole CPUs.", integer_cpu},
      {"cpu-limit-without-static", kInfo, "a CPU limit needs the kubelet's static policy",
       "Under the default policy the quota stops all threads of a container that used it up, and every token waits.",
       cpu_limit_without_static},
      {"gpu-limits-only", kError, "GPUs are requested without the same limit, or in fractions",
       "Extended resources are whole, and their requests equal their limits.", gpu_limits_only},
      {"shm-size", kError, "/dev/shm is not in memory, too small, or not counted",
       "NCCL and the processes of an engine exchange data in /dev/shm; the runtime's default is 64 MiB, and what is in "
       "it counts against the memory limit.",
       shm_size},
      {"threads-from-quota", kWarn, "thread pools are sized by the node and not by the quota",
       "OpenMP, MKL and tokenizers start a thread for each core of the node unless they are told otherwise.",
       threads_from_quota},
      {"whole-node-gpus", kInfo, "tensor parallelism over some GPUs of a node",
       "The device plugin may hand out GPUs that only meet over the interconnect between sockets.", whole_node_gpus},
      {"startup-probe", kError, "liveness without a startup probe, or with a short one",
       "Loading takes minutes, cold starts longer; a probe that gives up before restarts the load for ever.",
       startup_probe},
      {"liveness-aggressive", kWarn, "liveness fails in under a minute",
       "A restart costs minutes of loading and all requests in flight; an engine at its limit answers late.",
       liveness_aggressive},
      {"readiness-probe", kError, "a container that serves has no readiness probe",
       "Without one the Service sends requests as soon as the process runs, minutes before it listens.",
       readiness_probe},
      {"drain-hook", kError, "no preStop hook that outlasts the endpoint's removal",
       "SIGTERM and the removal of the endpoint happen at the same time, and engines cut requests on SIGTERM.",
       drain_hook},
      {"grace-period", kError, "the grace period is shorter than a drain",
       "At its end comes SIGKILL: what the preStop hook and the engine's own drain need must fit in.", grace_period},
      {"node-local-cache", kWarn, "weights come over the network for each pod",
       "Hundreds of gigabytes for each start make rollouts slow and depend on the hub or the store.", node_local_cache},
      {"models-read-only", kWarn, "the models can be written",
       "One pod can damage the weights of all others on the node.", models_read_only},
      {"gang-scheduling", kError, "a group of pods is not placed whole",
       "Two groups that each hold half of their GPUs wait for each other for ever.", gang_scheduling},
      {"group-restart", kError, "a group is not restarted whole",
       "A rank that comes back alone cannot join collectives that run already.", group_restart},
      {"rdma", kWarn, "GPUs of several nodes without RDMA",
       "TCP between nodes makes tensor and pipeline parallelism crawl.", rdma},
      {"nccl-interface", kWarn, "NCCL's interface is left open, or is one fixed name",
       "NCCL takes the first interface that looks right; names differ between nodes.", nccl_interface},
      {"gloo-interface", kError, "Gloo's interface in exclusion form",
       "Only NCCL knows ^ for all but these; Gloo looks for an interface of that name.", gloo_interface},
      {"gpu-node-selection", kWarn, "nothing chooses the GPU product",
       "A model is sized for the memory and the links of one product.", gpu_node_selection},
      {"gpu-toleration", kWarn, "the taint of GPU nodes is not tolerated",
       "GPU nodes are tainted so that nothing else lands on them; only some clusters add the toleration.",
       gpu_toleration},
      {"rollout-surge", kError, "a rolling update needs spare GPUs",
       "On a full cluster the new pod waits for a GPU that the old one keeps.", rollout_surge},
      {"service-links", kWarn, "service links with vLLM",
       "Kubernetes sets VLLM_PORT for a Service named vllm, which vLLM takes for its own setting.", service_links},
      {"removed-flags", kError, "flags or variables that the engine's version does not have",
       "Engines end on unknown flags, and ignore unknown variables.", removed_flags},
      {"shared-gpu-parallel", kError, "tensor parallelism over shares or slices of GPUs, or a product that none has",
       "Time-sliced, MPS and MIG devices have no links; sharing and MIG change the product's label.",
       shared_gpu_parallel},
      {"dra-claims", kInfo, "one ResourceClaim for many pods",
       "A claim is allocated once; a template gives each pod its own.", dra_claims},
  };
}

}  // namespace

const std::vector<Rule>& rules() {
  static const std::vector<Rule> kRules = all_rules();
  return kRules;
}

const Rule* find_rule(std::string_view id) {
  const auto found = std::ranges::find(rules(), id, &Rule::id);
  return found == rules().end() ? nullptr : &*found;
}

}  // namespace inference::audit
