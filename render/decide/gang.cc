#include "render/decide/gang.h"

#include <utility>

#include "render/labels.h"

namespace inference::render {

namespace {

using crd::Gang;

Traced<Gang> chosen(const Settings& settings, Gang gang, std::string text) {
  return {.value = gang,
          .reason = {.rule = "gang", .text = std::move(text), .inputs = {settings.gang.path}, .source = {}}};
}

bool serves(const ClusterFacts& cluster, Gang gang) {
  return gang == Gang::kNative ? cluster.native_gang : cluster.volcano;
}

/// A mode that the spec names.
Traced<Gang> named(const Settings& settings, const ClusterFacts& cluster, Findings& findings) {
  const Gang gang = settings.gang.value;
  if (gang == Gang::kKueue) {
    findings.refuse("NotSupported", settings.gang.path,
                    to_string(gang) + " is not rendered yet; use Auto, Native, Volcano, Gates or None");
  } else if (gang != Gang::kNone && gang != Gang::kGates && !cluster.offline && !serves(cluster, gang)) {
    findings.refuse(
        "ClusterLacksGang", settings.gang.path,
        gang == Gang::kNative
            ? "the cluster does not keep schedulingGroup in pods, lacks PodGroups of scheduling.k8s.io/v1beta1 or the "
              "admission policy of config/gang; use Auto, Volcano, Gates or None"
            : "the cluster has no PodGroups of scheduling.volcano.sh; use Auto, Native, Gates or None");
  }
  return {.value = gang, .reason = settings.gang.reason("gang")};
}

void tell_best_effort(const Settings& settings, Findings& findings) {
  findings.notice(
      "BestEffortGang", settings.gang.path,
      "our own scheduling gates place groups whole, as far as no other pod comes in between; name Native or "
      "Volcano where the cluster has them");
}

/// What `Auto` comes to. A group that runs keeps its mode, since another one would recreate all its pods.
Traced<Gang> automatic(const Settings& settings, const ClusterFacts& cluster, std::optional<Gang> recorded,
                       Findings& findings) {
  if (recorded == Gang::kNative || recorded == Gang::kVolcano || recorded == Gang::kGates) {
    if (*recorded == Gang::kGates) {
      tell_best_effort(settings, findings);
    } else if (!serves(cluster, *recorded)) {
      findings.notice(
          "GangNotServed", settings.gang.path,
          to_string(*recorded) + " is kept since the groups run with it, but the cluster seems to serve it no more");
    }
    return chosen(settings, *recorded, "kept: the groups run with it, and another one would recreate them");
  }
  const bool kept = recorded == Gang::kNone;
  if (!kept && cluster.native_gang)
    return chosen(settings, Gang::kNative, "the cluster's own scheduler places PodGroups whole");
  if (!kept && cluster.volcano) return chosen(settings, Gang::kVolcano, "the cluster has Volcano");
  if (!kept) {
    tell_best_effort(settings, findings);
    return chosen(settings, Gang::kGates, "the cluster serves neither native PodGroups nor Volcano");
  }
  findings.notice("NotAGang", settings.gang.path,
                  "pods of a group are placed one by one: a group may hold GPUs without being complete. The groups run "
                  "so; name Native, Volcano or Gates to recreate them as gangs.");
  return chosen(settings, Gang::kNone, "kept: the groups run without a gang");
}

}  // namespace

GangChoice decide_gang(const Settings& settings, const ClusterFacts& cluster, std::optional<Gang> recorded,
                       Findings& findings) {
  GangChoice choice;
  if (settings.nodes.value == 1) {
    choice.gang = chosen(settings, Gang::kNone, "one pod needs no gang");
  } else if (settings.gang.value == Gang::kAuto) {
    choice.gang = automatic(settings, cluster, recorded, findings);
  } else {
    choice.gang = named(settings, cluster, findings);
  }
  if (choice.gang.value == Gang::kVolcano) {
    choice.scheduler_name = {.value = "volcano", .reason = choice.gang.reason};
  } else if (choice.gang.value == Gang::kNative) {
    choice.label = {.value = "native", .reason = choice.gang.reason};
  } else if (choice.gang.value == Gang::kGates) {
    choice.label = {.value = kGangLabelGates, .reason = choice.gang.reason};
    choice.gates = {.value = {{{"name", kGangGate}}}, .reason = choice.gang.reason};
  }
  if (settings.queue) {
    if (choice.gang.value == Gang::kVolcano) {
      choice.queue = {.value = settings.queue->value, .reason = settings.queue->reason("queue")};
    } else {
      findings.notice("QueueNotUsed", settings.queue->path,
                      "only Volcano has queues, and the gang is " + to_string(choice.gang.value));
    }
  }
  return choice;
}

}  // namespace inference::render
