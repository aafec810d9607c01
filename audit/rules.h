#pragma once

#include <string_view>
#include <vector>

#include "audit/finding.h"
#include "audit/subject.h"

namespace inference::audit {

/// One rule of the audit: what it is called, how bad what it finds is, and the pure function that looks.
struct Rule {
  std::string_view id;
  Severity severity;
  std::string_view title;  // what it finds, one sentence without a full stop
  std::string_view why;    // what goes wrong then
  Founds (*check)(const Subject&);
};

/// All rules. Their order is that of the findings about one object which are equally severe.
[[nodiscard]] const std::vector<Rule>& rules();

/// Null when there is none of that id.
[[nodiscard]] const Rule* find_rule(std::string_view id);

// rules_of_resources.cc
[[nodiscard]] Founds qos_guaranteed(const Subject& subject);
[[nodiscard]] Founds integer_cpu(const Subject& subject);
[[nodiscard]] Founds cpu_limit_without_static(const Subject& subject);
[[nodiscard]] Founds gpu_limits_only(const Subject& subject);
[[nodiscard]] Founds threads_from_quota(const Subject& subject);

// rules_of_memory.cc
[[nodiscard]] Founds shm_size(const Subject& subject);

// rules_of_devices.cc
[[nodiscard]] Founds whole_node_gpus(const Subject& subject);
[[nodiscard]] Founds shared_gpu_parallel(const Subject& subject);
[[nodiscard]] Founds dra_claims(const Subject& subject);

// rules_of_probes.cc
[[nodiscard]] Founds startup_probe(const Subject& subject);
[[nodiscard]] Founds liveness_aggressive(const Subject& subject);
[[nodiscard]] Founds readiness_probe(const Subject& subject);

// rules_of_drain.cc
[[nodiscard]] Founds drain_hook(const Subject& subject);
[[nodiscard]] Founds grace_period(const Subject& subject);

// rules_of_weights.cc
[[nodiscard]] Founds node_local_cache(const Subject& subject);
[[nodiscard]] Founds models_read_only(const Subject& subject);

// rules_of_groups.cc
[[nodiscard]] Founds gang_scheduling(const Subject& subject);
[[nodiscard]] Founds group_restart(const Subject& subject);

// rules_of_network.cc
[[nodiscard]] Founds rdma(const Subject& subject);
[[nodiscard]] Founds nccl_interface(const Subject& subject);
[[nodiscard]] Founds gloo_interface(const Subject& subject);

// rules_of_placement.cc
[[nodiscard]] Founds gpu_node_selection(const Subject& subject);
[[nodiscard]] Founds gpu_toleration(const Subject& subject);
[[nodiscard]] Founds rollout_surge(const Subject& subject);

// rules_of_engines.cc
[[nodiscard]] Founds service_links(const Subject& subject);
[[nodiscard]] Founds removed_flags(const Subject& subject);

}  // namespace inference::audit
