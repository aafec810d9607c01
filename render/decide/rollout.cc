#include "render/decide/rollout.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "render/decide/probes.h"

namespace inference::render {

namespace {

Traced<Json> limit(const Setting<crd::IntOrPercent>& setting, const char* rule) {
  Json value = std::visit([](const auto& alternative) { return Json(alternative); }, setting.value);
  return {.value = std::move(value), .reason = setting.reason(rule)};
}

/// A limit in replicas; percentages round up, as controllers round maxSurge.
std::int64_t in_replicas(const crd::IntOrPercent& limit, std::int64_t replicas) {
  if (const auto* count = std::get_if<std::int64_t>(&limit)) return *count;
  const std::string& text = std::get<std::string>(limit);
  std::int64_t percent = 0;
  std::from_chars(text.data(), text.data() + text.size(), percent);
  return (replicas * percent + 99) / 100;
}

bool is_zero(const crd::IntOrPercent& limit) {
  return std::visit(
      [](const auto& value) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, std::int64_t>) {
          return value == 0;
        } else {
          return value == "0%" || value == "0";
        }
      },
      limit);
}

/// With no surge the old pod drains before the new one starts, and a new node pulls the image first: all of that is no
/// failure.
Traced<std::int64_t> decide_deadline(const Settings& settings, std::int64_t grace_period, const RuleConstants& rules,
                                     Findings& findings) {
  const std::int64_t startup = startup_budget(settings, rules);
  const std::int64_t pull = rules.image_pull.value;
  const std::int64_t needed = grace_period + pull + startup;
  const std::string sum = std::to_string(grace_period) + " s drain of the old pod + " + std::to_string(pull) +
                          " s image pull + " + std::to_string(startup) + " s start-up";
  if (!settings.progress_deadline) {
    return {.value = needed,
            .reason = {.rule = "progress_deadline",
                       .text = sum,
                       .inputs = {settings.drain_timeout.path, settings.startup_timeout.path},
                       .source = {}}};
  }
  if (settings.progress_deadline->value < startup) {
    findings.refuse("InvalidSpec", settings.progress_deadline->path,
                    std::to_string(settings.progress_deadline->value) + " s is less than the start-up budget of " +
                        std::to_string(startup) + " s: every healthy start would be reported as failed");
  } else if (settings.progress_deadline->value < needed) {
    findings.notice("ShortProgressDeadline", settings.progress_deadline->path,
                    "a healthy rollout may take " + std::to_string(needed) + " s: " + sum);
  }
  return {.value = settings.progress_deadline->value,
          .reason = settings.progress_deadline->reason("progress_deadline")};
}

void decide_budget(const Settings& settings, const Sizing& sizing, RolloutChoice& choice, Findings& findings) {
  const std::int64_t replicas = sizing.replicas.value;
  const std::int64_t size = sizing.nodes.value;
  const std::int64_t lost = settings.disruption.value;
  if (replicas == 0) return;
  if (replicas == 1) {
    findings.notice("NoDisruptionBudget", sizing.replicas.reason.inputs.front(),
                    "a budget for one replica would block node drains for ever: an eviction takes the model out of "
                    "service for a start-up");
    return;
  }
  Reason reason = settings.disruption.reason("disruption_budget");
  if (size == 1) {
    choice.budget_max_unavailable = {.value = lost, .reason = std::move(reason)};
    return;
  }
  // One pod lost is a group lost, and LeaderWorkerSet then deletes the group's other pods. So for one group exactly one
  // pod may be evicted while all are well: until that group is back no pod of a second one may go, not even in the
  // moment before its own mates are deleted. Each further group counts with all its pods, since by then the earlier
  // ones are gone whole.
  const std::int64_t may_miss = lost == 0 ? 0 : (lost - 1) * size + 1;
  const std::int64_t total = replicas * size;
  reason.text = std::to_string(total) + " pods in " + std::to_string(replicas) + " groups − " +
                std::to_string(may_miss) +
                ": a group is lost with its first pod, and no pod of another one may then be evicted; " + reason.text;
  reason.inputs.insert(reason.inputs.end(), {settings.replicas.path, settings.nodes.path});
  choice.budget_min_available = {.value = std::max<std::int64_t>(total - may_miss, 0), .reason = std::move(reason)};
}

}  // namespace

RolloutChoice decide_rollout(const Settings& settings, const Sizing& sizing, std::int64_t grace_period,
                             const RuleConstants& rules, Findings& findings) {
  RolloutChoice choice{
      .max_surge = limit(settings.max_surge, "max_surge"),
      .max_unavailable = limit(settings.max_unavailable, "max_unavailable"),
      .surge_replicas = in_replicas(settings.max_surge.value, sizing.replicas.value),
      .progress_deadline = decide_deadline(settings, grace_period, rules, findings),
      .budget_max_unavailable = std::nullopt,
      .budget_min_available = std::nullopt,
  };
  if (is_zero(settings.max_surge.value) && is_zero(settings.max_unavailable.value)) {
    findings.refuse("InvalidSpec", "spec.rollout", "maxSurge and maxUnavailable can't both be 0");
  }
  if (sizing.replicas.value == 1 && choice.surge_replicas == 0) {
    findings.notice("OutageOnRollout", sizing.replicas.reason.inputs.front(),
                    "with one replica and no surge a rollout takes the model out of service for a start-up, up to " +
                        std::to_string(startup_budget(settings, rules)) + " s");
  }
  decide_budget(settings, sizing, choice, findings);
  return choice;
}

}  // namespace inference::render
