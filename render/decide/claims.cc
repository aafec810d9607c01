#include "render/decide/claims.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace inference::render {

namespace {

/// Under which NVIDIA's DRA driver publishes what it knows of a device, whole or slice.
constexpr std::string_view kNvidia = "gpu.nvidia.com";
/// Of resource.k8s.io/v1 (AllocationResultsMaxSize).
constexpr std::int64_t kMostDevices = 32;

std::string attribute(std::string_view name) {
  return "device.attributes['" + std::string(kNvidia) + "']." + std::string(name);
}

bool is_nvidia(const std::string& device_class) {
  return device_class.ends_with(".nvidia.com");
}

/// What a user's words about one choice come to.
class Selectors {
 public:
  void add(std::string expression, Reason reason) {
    list_.parts.push_back({.pointer = "/" + std::to_string(list_.value.size()), .reason = std::move(reason)});
    list_.value.push_back({{"cel", {{"expression", guarded(expression)}}}});
  }
  [[nodiscard]] std::optional<HoleValue> take() {
    if (list_.value.empty()) return std::nullopt;
    return std::move(list_);
  }

 private:
  HoleValue list_{.value = Json::array(), .reason = {}, .parts = {}};
};

/// Everything that the choices have in common.
struct Frame {
  const Settings& settings;
  const Sizing& sizing;
  const AcceleratorChoice& accelerator;
  const RuleConstants& rules;
  Reason claim;  // of what the user says in the claim

  [[nodiscard]] bool slices() const { return accelerator.sharing == crd::Sharing::kMig; }
};

SubTemplate<DeviceRequestValues> request(const Frame& frame, const crd::DeviceChoice& choice, const std::string& path,
                                         Findings& findings) {
  const Settings& s = frame.settings;
  const auto said = [&](const char* rule, const char* field) {
    Reason reason = frame.claim;
    reason.rule = rule;
    reason.inputs = {path + "." + field};
    return reason;
  };
  DeviceRequestValues values{.choice_name = std::nullopt,
                             .device_class = {},
                             .device_count = {},
                             .selectors = {},
                             .tolerations = std::nullopt};
  if (choice.device_class_name) {
    values.device_class = {.value = *choice.device_class_name, .reason = said("device_class", "deviceClassName")};
  } else {
    const auto& fact = frame.slices() ? frame.rules.mig_device_class : frame.rules.device_class;
    values.device_class = {.value = fact.value, .reason = fact.reason("device_class", {s.sharing.path})};
  }
  values.device_count = {.value = frame.sizing.gpus_per_pod.value, .reason = frame.sizing.gpus_per_pod.reason};
  const bool nvidia = is_nvidia(values.device_class.value);
  if (!nvidia && (choice.product || choice.memory)) {
    findings.refuse("NotSupported", path,
                    "product and memory are read as NVIDIA's driver publishes them; for " + values.device_class.value +
                        " write selectors");
  }
  Selectors selectors;
  // The label has dashes where the driver has blanks.
  if (choice.product)
    selectors.add(attribute("productName") + ".replace(' ', '-') == '" + *choice.product + "'",
                  said("device_product", "product"));
  if (frame.slices() && s.mig && values.device_class.value == frame.rules.mig_device_class.value)
    selectors.add(attribute("profile") + " == '" + mig_profile(s.mig->value) + "'", s.mig->reason("device_profile"));
  if (choice.memory)
    selectors.add(
        "device.capacity['" + std::string(kNvidia) + "'].memory.compareTo(quantity('" + *choice.memory + "')) >= 0",
        said("device_memory", "memory"));
  for (const std::string& expression : choice.selectors.value_or(std::vector<std::string>{}))
    selectors.add(expression, said("device_selectors", "selectors"));
  values.selectors = selectors.take();
  if (s.claim && s.claim->value.tolerations) {
    values.tolerations = {.value = *s.claim->value.tolerations, .reason = s.claim->reason("device_tolerations")};
    values.tolerations->reason.inputs = {"spec.accelerator.claim.tolerations"};
  }
  return {.file = "device-request.yaml", .values = std::move(values)};
}

ClaimValues claim_values(const Frame& frame, const Names& names, Findings& findings) {
  const Settings& s = frame.settings;
  const crd::Claim claim = s.claim ? s.claim->value : crd::Claim();
  crd::DeviceChoice first = claim.first;
  if (s.product) first.product = s.product->value;
  ClaimValues values{.name = {.value = names.workload,
                              .reason = {.rule = "identity", .text = "the owner's name", .inputs = {"metadata.name"}}},
                     .exact_request = std::nullopt,
                     .ranked_requests = std::nullopt,
                     .constraints = std::nullopt};
  SubTemplate<DeviceRequestValues> exact = request(frame, first, "spec.accelerator.claim", findings);
  if (!claim.alternatives || claim.alternatives->empty()) {
    values.exact_request = std::move(exact);
  } else {
    std::vector<SubTemplate<DeviceRequestValues>> choices{std::move(exact)};
    for (std::size_t i = 0; i < claim.alternatives->size(); ++i)
      choices.push_back(request(frame, (*claim.alternatives)[i],
                                "spec.accelerator.claim.alternatives[" + std::to_string(i) + "]", findings));
    for (std::size_t i = 0; i < choices.size(); ++i)
      choices[i].values.choice_name = {
          .value = "choice-" + std::to_string(i + 1),
          .reason = {.rule = "choice_name", .text = "its rank", .inputs = {"spec.accelerator.claim.alternatives"}}};
    values.ranked_requests = {.file = "ranked-requests.yaml", .values = {.choices = std::move(choices)}};
  }
  if (claim.match_attribute) {
    values.constraints = {
        .value =
            Json::array({Json{{"requests", Json::array({kGpuClaim})}, {"matchAttribute", *claim.match_attribute}}}),
        .reason = s.claim->reason("match_attribute")};
    values.constraints->reason.inputs = {"spec.accelerator.claim.matchAttribute"};
  }
  return values;
}

void tell(const Settings& settings, const ClaimValues& claim, Findings& findings) {
  std::string classes;
  const auto add = [&](const SubTemplate<DeviceRequestValues>& choice) {
    const std::string& name = choice.values.device_class.value;
    if (("," + classes + ",").find("," + name + ",") == std::string::npos)
      classes += (classes.empty() ? "" : ",") + name;
  };
  if (claim.exact_request) add(*claim.exact_request);
  if (claim.ranked_requests) std::ranges::for_each(claim.ranked_requests->values.choices, add);
  const std::string& path = settings.accelerator_mode.path;
  findings.notice("NodeConfiguration", path,
                  "its nodes need a DRA driver that publishes devices of DeviceClass " + classes +
                      ", and no device plugin for the same devices");
  if (settings.resource_name.asked())
    findings.notice("ResourceNameNotUsed", settings.resource_name.path, "with mode DRA GPUs are claimed by class");
}

/// Which devices a claim may get only the scheduler can tell: each class selects by CEL.
void check_gang(const Settings& settings, crd::Gang gang, const ClusterFacts& cluster, Findings& findings) {
  if (gang != crd::Gang::kGates) return;
  const std::string& path = settings.gang.path;
  const std::string why = "our own scheduling gates count no claimed devices, and could place a group in part: ";
  const std::string need = "the cluster needs native PodGroups, Volcano or a queue of Kueue";
  if (settings.gang.value == crd::Gang::kGates) {
    findings.refuse("NotSupported", path, why + "name Native, Volcano or Kueue, or None for pods placed one by one");
  } else if (cluster.offline) {
    findings.notice("ClaimsNeedAGang", path, why + need);
  } else {
    findings.refuse("ClusterLacksGang", path,
                    why + need + "; name the one that it has, or None for pods placed one by one");
  }
}

void check_cluster(const ClaimChoice& choice, const Settings& settings, const ClusterFacts& cluster,
                   Findings& findings) {
  if (cluster.offline) return;
  if ((choice.gpus || choice.channel) && !cluster.dra) {
    findings.refuse("ClusterLacksDRA", choice.gpus ? settings.accelerator_mode.path : settings.compute_domain->path,
                    "needs Dynamic Resource Allocation (resource.k8s.io/v1, Kubernetes 1.34 or later), which the "
                    "cluster does not serve");
  }
  if (choice.channel && !cluster.compute_domain) {
    findings.refuse("ClusterLacksComputeDomain", settings.compute_domain->path,
                    "needs NVIDIA's DRA driver, whose ComputeDomain (resource.nvidia.com/v1beta1) the cluster does "
                    "not serve");
  }
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// What `device.attributes['d'].a` reads, from where `device.` stands; empty when it is something else.
std::string_view read_at(std::string_view text) {
  for (const std::string_view map : {"device.attributes[", "device.capacity["}) {
    if (!text.starts_with(map)) continue;
    const char quote = text.size() > map.size() ? text[map.size()] : ' ';
    if (quote != '\'' && quote != '"') return {};
    const std::size_t end = text.find(quote, map.size() + 1);
    if (end == std::string_view::npos || !text.substr(end + 1).starts_with("].")) return {};
    std::size_t last = end + 3;
    while (last < text.size() && is_word(text[last])) ++last;
    return last > end + 3 ? text.substr(0, last) : std::string_view{};
  }
  return {};
}

}  // namespace

std::string guarded(const std::string& expression) {
  for (const std::string_view asks : {"has(", ".?", "[?", " in device."}) {
    if (expression.find(asks) != std::string::npos) return expression;
  }
  std::vector<std::string_view> read;
  const std::string_view text = expression;
  for (std::size_t at = 0; (at = text.find("device.", at)) != std::string_view::npos; ++at) {
    const std::string_view found = read_at(text.substr(at));
    if (!found.empty() && std::ranges::find(read, found) == read.end()) read.push_back(found);
  }
  if (read.empty()) return expression;
  std::string all;
  for (const std::string_view found : read) all += "has(" + std::string(found) + ") && ";
  return all + (expression.find("||") == std::string::npos && expression.find('?') == std::string::npos
                    ? expression
                    : "(" + expression + ")");
}

ClaimChoice decide_claims(const Settings& settings, const Sizing& sizing, const AcceleratorChoice& accelerator,
                          const Names& names, crd::Gang gang, const ClusterFacts& cluster, const RuleConstants& rules,
                          Findings& findings) {
  ClaimChoice choice;
  if (accelerator.claims()) {
    Frame frame{.settings = settings,
                .sizing = sizing,
                .accelerator = accelerator,
                .rules = rules,
                .claim = settings.claim ? settings.claim->reason("claim") : settings.accelerator_mode.reason("claim")};
    choice.gpus = claim_values(frame, names, findings);
    if (sizing.gpus_per_pod.value > kMostDevices) {
      findings.refuse("InvalidSpec", "spec.parallelism",
                      std::to_string(sizing.gpus_per_pod.value) +
                          " GPUs of one pod are more than a claim can hold: " + std::to_string(kMostDevices));
    }
    tell(settings, *choice.gpus, findings);
    check_gang(settings, gang, cluster, findings);
  }
  if (settings.compute_domain && settings.compute_domain->value) {
    if (sizing.nodes.value > 1) {
      choice.channel = {.value = names.channel, .reason = settings.compute_domain->reason("compute_domain")};
    } else {
      findings.notice("ComputeDomainNotUsed", settings.compute_domain->path, "one node needs no memory between nodes");
    }
  }
  check_cluster(choice, settings, cluster, findings);
  return choice;
}

std::optional<HoleValue> pod_claims(const PodClaims& claims) {
  if (claims.empty()) return std::nullopt;
  HoleValue list{.value = Json::array(), .reason = {}, .parts = {}};
  for (const auto& [name, of] : claims) {
    list.parts.push_back({.pointer = "/" + std::to_string(list.value.size()), .reason = of.reason});
    list.value.push_back({{"name", name}, {"resourceClaimTemplateName", of.value}});
  }
  return list;
}

std::optional<HoleValue> container_claims(const PodClaims& claims) {
  std::optional<HoleValue> list = pod_claims(claims);
  if (!list) return list;
  for (Json& claim : list->value) claim.erase("resourceClaimTemplateName");
  return list;
}

}  // namespace inference::render
