#include "render/decide/gang.h"

#include <utility>

#include "render/decide/volcano.h"
#include "render/labels.h"

namespace inference::render {

namespace {

using crd::Gang;

Traced<Gang> chosen(const Settings& settings, Gang gang, std::string text) {
  return {.value = gang,
          .reason = {.rule = "gang", .text = std::move(text), .inputs = {settings.gang.path}, .source = {}}};
}

bool serves(const ClusterFacts& cluster, Gang gang) {
  switch (gang) {
    case Gang::kNative:
      return cluster.native_gang;
    case Gang::kVolcano:
      return holds_groups(cluster.volcano);
    case Gang::kKueue:
      return cluster.kueue;
    case Gang::kAuto:
    case Gang::kNone:
    case Gang::kGates:
      return true;
  }
  std::unreachable();
}

const char* what_is_lacking(Gang gang) {
  if (gang == Gang::kNative) {
    return "the cluster does not keep schedulingGroup in pods, lacks PodGroups of scheduling.k8s.io/v1beta1 or the "
           "admission policy of config/gang";
  }
  return "the cluster has no LocalQueues of kueue.x-k8s.io/v1beta2";
}

/// Kueue takes only what names a queue.
void demand_queue(const Settings& settings, Findings& findings) {
  if (settings.queue) return;
  findings.refuse("QueueMissing", "spec.scheduling.queue", "is needed: gang Kueue holds pods by a LocalQueue");
}

/// A mode that the spec names.
Traced<Gang> named(const Settings& settings, const ClusterFacts& cluster, Findings& findings) {
  const Gang gang = settings.gang.value;
  if (gang == Gang::kKueue) demand_queue(settings, findings);
  if (gang != Gang::kVolcano && !cluster.offline && !serves(cluster, gang)) {
    findings.refuse("ClusterLacksGang", settings.gang.path,
                    std::string(what_is_lacking(gang)) + "; use Auto, Gates, None or what the cluster has");
  }
  return {.value = gang, .reason = settings.gang.reason("gang")};
}

void tell_best_effort(const Settings& settings, Findings& findings) {
  findings.notice(
      "BestEffortGang", settings.gang.path,
      "our own scheduling gates place groups whole, as far as no other pod comes in between; name Native, Volcano or "
      "Kueue where the cluster has them");
}

/// What groups that run have: another mode would recreate all their pods.
Traced<Gang> kept(const Settings& settings, const ClusterFacts& cluster, Gang recorded, Findings& findings) {
  if (recorded == Gang::kNone) {
    findings.notice(
        "NotAGang", settings.gang.path,
        "pods of a group are placed one by one: a group may hold GPUs without being complete. The groups run so; name "
        "Native, Volcano, Kueue or Gates to recreate them as gangs.");
    return chosen(settings, Gang::kNone, "kept: the groups run without a gang");
  }
  if (recorded == Gang::kGates) tell_best_effort(settings, findings);
  if (recorded == Gang::kKueue) demand_queue(settings, findings);
  if (recorded != Gang::kVolcano && !serves(cluster, recorded)) {
    findings.notice(
        "GangNotServed", settings.gang.path,
        to_string(recorded) + " is kept since the groups run with it, but the cluster seems to serve it no more");
  }
  return chosen(settings, recorded, "kept: the groups run with it, and another one would recreate them");
}

/// What `Auto` comes to.
Traced<Gang> automatic(const Settings& settings, const ClusterFacts& cluster, std::optional<Gang> recorded,
                       Findings& findings) {
  if (recorded) return kept(settings, cluster, *recorded, findings);
  if (settings.queue && cluster.queue && cluster.queue->exists)
    return chosen(settings, Gang::kKueue, "Kueue has the queue " + settings.queue->value);
  if (cluster.native_gang) return chosen(settings, Gang::kNative, "the cluster's own scheduler places PodGroups whole");
  if (serves(cluster, Gang::kVolcano))
    return chosen(settings, Gang::kVolcano, "the cluster has Volcano, and groups are held in it");
  tell_best_effort(settings, findings);
  return chosen(settings, Gang::kGates, "the cluster serves neither native PodGroups nor groups in Volcano");
}

void choose_queue(const Settings& settings, GangChoice& choice, Findings& findings) {
  if (!settings.queue) return;
  const Traced<std::string> queue{.value = settings.queue->value, .reason = settings.queue->reason("queue")};
  if (choice.gang.value == Gang::kVolcano) {
    choice.volcano_queue = queue;
  } else if (choice.gang.value == Gang::kKueue) {
    choice.kueue_queue = queue;
  } else {
    findings.notice("QueueNotUsed", settings.queue->path,
                    "only Volcano and Kueue have queues, and the gang is " + to_string(choice.gang.value));
  }
}

}  // namespace

GangChoice decide_gang(const Settings& settings, const ClusterFacts& cluster, RecordedGang recorded,
                       Findings& findings) {
  GangChoice choice;
  if (settings.nodes.value == 1 && settings.gang.value != Gang::kKueue) {
    choice.gang = chosen(settings, Gang::kNone, "one pod needs no gang");
  } else if (settings.gang.value == Gang::kAuto) {
    choice.gang = automatic(settings, cluster, recorded.gang, findings);
  } else {
    choice.gang = named(settings, cluster, findings);
  }
  if (choice.gang.value == Gang::kVolcano) {
    choice.scheduler_name = {.value = "volcano", .reason = choice.gang.reason};
    if (recorded.gang != Gang::kVolcano) recorded.groups.reset();
    choice.volcano_groups = decide_volcano_groups(settings, cluster, recorded.groups, findings);
    if (choice.volcano_groups == VolcanoGroups::kOperator)
      choice.label = {.value = kGangLabelVolcano, .reason = choice.gang.reason};
  } else if (choice.gang.value == Gang::kNative) {
    choice.label = {.value = "native", .reason = choice.gang.reason};
  } else if (choice.gang.value == Gang::kGates) {
    choice.label = {.value = kGangLabelGates, .reason = choice.gang.reason};
    choice.gates = {.value = {{{"name", kGangGate}}}, .reason = choice.gang.reason};
  }
  choose_queue(settings, choice, findings);
  return choice;
}

}  // namespace inference::render
