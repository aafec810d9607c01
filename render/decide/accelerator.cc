#include "render/decide/accelerator.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace inference::render {

namespace {

using crd::Sharing;

constexpr std::string_view kWhole = "nvidia.com/gpu";
constexpr std::string_view kRenamed = "nvidia.com/gpu.shared";  // by renameByDefault of the device plugin
constexpr std::string_view kSlices = "nvidia.com/mig-";

/// `1g.10gb` and what follows it: `me` of `1g.10gb+me`, also written `1g.10gb.me`.
std::pair<std::string, std::string> parts_of_profile(const std::string& written) {
  const std::size_t end = written.find("gb") + 2;
  return {written.substr(0, end), end < written.size() ? written.substr(end + 1) : ""};
}

/// Under strategy `mixed`; the device plugin puts a dot in place of the plus (k8s-device-plugin, internal/rm).
std::string slice_resource(const std::string& written) {
  const auto [profile, attribute] = parts_of_profile(written);
  return std::string(kSlices) + profile + (attribute.empty() ? "" : "." + attribute);
}

/// As feature discovery ends the product of a slice; it drops the plus (internal/lm/resource.go, sanitise).
std::string slice_suffix(const std::string& written) {
  const auto [profile, attribute] = parts_of_profile(written);
  return "-MIG-" + profile + attribute;
}

/// What the rules look at.
struct Asked {
  const Settings& settings;
  Sharing sharing;
  std::int64_t gpus;  // of a whole replica

  [[nodiscard]] bool claims() const { return settings.accelerator_mode.value == crd::AcceleratorMode::kDra; }
  [[nodiscard]] bool divided() const { return sharing == Sharing::kTimeSlicing || sharing == Sharing::kMps; }
  [[nodiscard]] bool has_resource(std::string_view name) const { return settings.resource_name.value == name; }
  /// Strategy `single`, under which slices have the name of whole GPUs: nobody says so by leaving the name out.
  [[nodiscard]] bool single() const { return settings.resource_name.asked() && has_resource(kWhole); }
};

struct Rule {
  bool (*broken)(const Asked&);
  const char* reason;
  const char* path;
  const char* message;
};

/// The first three stand in the CRD too, in the same words; a profile can break them where the CRD does not see it.
constexpr Rule kRules[] = {
    {[](const Asked& a) { return a.settings.mig && a.sharing != Sharing::kMig; }, "InvalidSpec", "spec.accelerator.mig",
     "mig needs sharing MIG"},
    {[](const Asked& a) { return a.settings.claim && !a.claims(); }, "InvalidSpec", "spec.accelerator.claim",
     "claim needs mode DRA"},
    {[](const Asked& a) { return a.sharing != Sharing::kNone && a.gpus > 1; }, "InvalidSpec", "spec.accelerator",
     "tensor x pipeline must be 1 on shared GPUs and on MIG slices, since NCCL joins whole GPUs only"},
    {[](const Asked& a) { return a.sharing == Sharing::kMig && !a.settings.mig; }, "InvalidSpec",
     "spec.accelerator.mig", "sharing MIG needs mig, the profile of a slice, e.g. 1g.10gb"},
    {[](const Asked& a) { return a.divided() && a.claims(); }, "NotSupported", "spec.accelerator.sharing",
     "TimeSlicing and MPS need one claim of several pods, and every pod has its own; use MIG, or mode DevicePlugin"},
    {[](const Asked& a) { return a.divided() && !a.claims() && !a.has_resource(kWhole) && !a.has_resource(kRenamed); },
     "InvalidSpec", "spec.accelerator.resourceName",
     "TimeSlicing and MPS are for whole GPUs: nvidia.com/gpu, or nvidia.com/gpu.shared where the device plugin renames "
     "what it shares"},
    {[](const Asked& a) {
       return a.sharing == Sharing::kNone && !a.claims() &&
              (a.has_resource(kRenamed) || a.settings.resource_name.value.starts_with(kSlices));
     },
     "InvalidSpec", "spec.accelerator.resourceName",
     "names parts of GPUs: say what they are by mig, or by sharing TimeSlicing or MPS"},
    {[](const Asked& a) {
       return a.sharing == Sharing::kMig && !a.claims() && a.settings.mig && a.settings.resource_name.asked() &&
              !a.single() && !a.has_resource(slice_resource(a.settings.mig->value));
     },
     "InvalidSpec", "spec.accelerator.resourceName",
     "must be nvidia.com/gpu (MIG strategy single) or the profile's own (strategy mixed), which is the default"},
    {[](const Asked& a) { return a.sharing == Sharing::kMig && !a.claims() && a.single() && !a.settings.product; },
     "InvalidSpec", "spec.accelerator.product",
     "is needed with resourceName nvidia.com/gpu: under MIG strategy single only the product label tells a slice from "
     "a whole GPU"},
};

void tell_isolation(Sharing sharing, Findings& findings) {
  if (sharing == Sharing::kTimeSlicing) {
    findings.notice("NoIsolation", "spec.accelerator.sharing",
                    "pods that share a GPU by time slicing are not isolated: each can take all of its memory, and a "
                    "fault of one ends the others; set serving.gpuMemoryUtilization to a share, or use MIG");
  } else if (sharing == Sharing::kMps) {
    findings.notice("NoFaultIsolation", "spec.accelerator.sharing",
                    "MPS divides a GPU's memory and compute evenly, but a fault of one pod ends the others on it");
  }
}

void select(HoleValue& selector, const std::string& label, std::string value, Reason reason) {
  std::string pointer = label;
  pointer.replace(pointer.find('/'), 1, "~1");
  selector.value[label] = std::move(value);
  selector.parts.push_back({.pointer = "/" + pointer, .reason = std::move(reason)});
}

/// Feature discovery labels a node by resource, and marks in the product what is no whole GPU.
std::optional<HoleValue> node_selector(const Asked& asked, const AcceleratorChoice& choice) {
  const Settings& s = asked.settings;
  HoleValue selector{.value = Json::object(), .reason = s.sharing.reason("gpu_nodes"), .parts = {}};
  const std::string& resource = choice.resource_name.value;
  const bool renamed = resource == kRenamed;
  const std::string prefix = renamed ? std::string(kWhole) : resource;
  if (s.product) {
    std::string suffix;
    if (choice.sharing == Sharing::kMig && s.mig) suffix = slice_suffix(s.mig->value);
    if (asked.divided() && !renamed) suffix = "-SHARED";
    const std::string& product = s.product->value;
    Reason reason = s.product->reason("gpu_product");
    if (!suffix.empty()) reason.text += "; " + suffix.substr(1) + " is what its feature discovery adds";
    const std::string key = choice.sharing == Sharing::kNone ? std::string(kWhole) : prefix;
    select(selector, key + ".product", product + (product.ends_with(suffix) ? "" : suffix), std::move(reason));
  }
  if (asked.divided()) {
    Reason reason = s.sharing.reason("gpu_sharing");
    reason.text += ": a node without it would give a whole GPU";
    select(selector, prefix + ".sharing-strategy", choice.sharing == Sharing::kMps ? "mps" : "time-slicing",
           std::move(reason));
  }
  return selector.value.empty() ? std::nullopt : std::optional(std::move(selector));
}

std::string configuration(const Asked& asked) {
  switch (asked.sharing) {
    case Sharing::kNone:
      return "";
    case Sharing::kTimeSlicing:
      return "time-slicing";
    case Sharing::kMps:
      return "mps";
    case Sharing::kMig:
      return asked.claims() ? "" : asked.single() ? "mig-single" : "mig-mixed";
  }
  std::unreachable();
}

void tell_configuration(const AcceleratorChoice& choice, Findings& findings) {
  std::string text =
      "its nodes need the device plugin's configuration config/gpu-sharing/" + choice.node_configuration + ".yaml";
  if (choice.resource_name.value == kRenamed) text += " with renameByDefault: true";
  text += ": they offer " + choice.resource_name.value;
  if (choice.node_selector) {
    const char* before = " and carry ";
    for (const auto& [label, value] : choice.node_selector->value.items()) {
      text += before + label + "=" + value.get<std::string>();
      before = ", ";
    }
  }
  findings.notice("NodeConfiguration", "spec.accelerator.sharing", std::move(text));
}

}  // namespace

std::string mig_profile(const std::string& written) {
  const auto [profile, attribute] = parts_of_profile(written);
  return profile + (attribute.empty() ? "" : "+" + attribute);
}

AcceleratorChoice decide_accelerator(const Settings& settings, const Sizing& sizing, Findings& findings) {
  const Asked asked{.settings = settings,
                    .sharing = settings.mig && !settings.sharing.asked() ? Sharing::kMig : settings.sharing.value,
                    .gpus = sizing.tensor.value * sizing.pipeline.value};
  bool sound = true;
  for (const Rule& rule : kRules) {
    if (!rule.broken(asked)) continue;
    findings.refuse(rule.reason, rule.path, rule.message);
    sound = false;
  }
  AcceleratorChoice choice{
      .mode = settings.accelerator_mode.value,
      .sharing = asked.sharing,
      .resource_name = {.value = settings.resource_name.value, .reason = settings.resource_name.reason("gpu_resource")},
      // NVIDIA's devices, whole or MIG, are all behind one taint; others' taints are named as their resource
      // (ExtendedResourceToleration).
      .toleration_key = {.value = settings.resource_name.value.starts_with("nvidia.com/")
                                      ? std::string(kWhole)
                                      : settings.resource_name.value,
                         .reason = settings.resource_name.reason("gpu_toleration")},
      .node_selector = std::nullopt,
      .node_configuration = configuration(asked)};
  if (!sound) return choice;
  if (asked.sharing == Sharing::kMig && !settings.resource_name.asked()) {
    choice.resource_name = {.value = slice_resource(settings.mig->value), .reason = settings.mig->reason("gpu_slice")};
  }
  if (choice.claims()) return choice;
  choice.node_selector = node_selector(asked, choice);
  tell_isolation(asked.sharing, findings);
  if (!choice.node_configuration.empty()) tell_configuration(choice, findings);
  return choice;
}

}  // namespace inference::render
