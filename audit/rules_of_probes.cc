#include <algorithm>

#include "audit/patch.h"
#include "audit/rules.h"
#include "base/json_members.h"

namespace inference::audit {
namespace {

constexpr std::int64_t kLoadSeconds = 600;     // the weights of a large model, from a local disk
constexpr std::int64_t kPatienceSeconds = 60;  // an engine that works at its limit answers late
constexpr std::int64_t kPeriod = 10;           // Kubernetes' defaults
constexpr std::int64_t kThreshold = 3;

std::int64_t period_of(const Json& probe) {
  return std::clamp<std::int64_t>(integer_at(probe, "periodSeconds", kPeriod), 1, 1 << 30);
}

/// How long a probe may fail before the kubelet acts on it.
std::int64_t budget_of(const Json& probe) {
  return period_of(probe) * std::clamp<std::int64_t>(integer_at(probe, "failureThreshold", kThreshold), 1, 1 << 30);
}

std::int64_t rounds(std::int64_t seconds, std::int64_t period) {
  return (seconds + period - 1) / period;
}

/// The part of a probe that says how to ask.
Json handler_of(const Json& probe) {
  Json handler = Json::object();
  for (const char* key : {"httpGet", "tcpSocket", "exec", "grpc"}) {
    if (probe.contains(key)) handler[key] = probe[key];
  }
  return handler;
}

/// How to ask whether the engine is ready: as another probe does, else by what is known of the engine.
Json readiness_of(const GpuContainer& gpu) {
  const Json& json = *gpu.container->json;
  Json probe;
  for (const char* other : {"startupProbe", "livenessProbe"}) {
    if (probe.empty() && member(json, other).is_object()) probe = handler_of(member(json, other));
  }
  if (gpu.engine.facts != nullptr) {
    const render::EngineFacts& facts = *gpu.engine.facts;
    const Json& ports = member(json, "ports");
    const std::int64_t declared =
        ports.is_array() && !ports.empty() ? integer_at(ports[0], "containerPort", facts.port.value) : facts.port.value;
    const std::int64_t port = number_of_flag(gpu.engine.words, {"--port"}).value_or(declared);
    if (probe.empty()) probe = {{"httpGet", {{"path", facts.readiness.path}, {"port", port}}}};
  }
  if (probe.empty()) return probe;
  probe["periodSeconds"] = 5;
  probe["failureThreshold"] = 2;
  probe["timeoutSeconds"] = 5;
  return probe;
}

Found missing_startup(const Subject& subject, const GpuContainer& gpu, const Json& liveness) {
  PatchWriter patch(subject.object());
  Json probe = handler_of(liveness);
  probe["periodSeconds"] = kPeriod;
  probe["failureThreshold"] = kLoadSeconds / kPeriod;
  if (liveness.contains("timeoutSeconds")) probe["timeoutSeconds"] = liveness["timeoutSeconds"];
  patch.set(gpu.pointer() + "/startupProbe", std::move(probe));
  return {.pointer = gpu.pointer() + "/livenessProbe",
          .message =
              "the liveness probe counts while the model loads: a load that takes longer than it expects is "
              "killed and starts again, for ever",
          .fix =
              "add a startup probe with at least 10 minutes (failureThreshold × periodSeconds), and no "
              "initialDelaySeconds",
          .patch = patch.take()};
}

}  // namespace

Founds startup_probe(const Subject& subject) {
  Founds found;
  for (const GpuContainer& gpu : subject.containers) {
    const Json& startup = member(*gpu.container->json, "startupProbe");
    const Json& liveness = member(*gpu.container->json, "livenessProbe");
    if (!startup.is_object()) {
      if (liveness.is_object()) found.push_back(missing_startup(subject, gpu, liveness));
      continue;
    }
    const std::int64_t delay = std::clamp<std::int64_t>(integer_at(startup, "initialDelaySeconds", 0), 0, 1 << 30);
    const std::int64_t budget = budget_of(startup) + delay;
    if (budget >= kLoadSeconds) continue;
    PatchWriter patch(subject.object());
    patch.set(gpu.pointer() + "/startupProbe/failureThreshold", rounds(kLoadSeconds, period_of(startup)));
    found.push_back({.pointer = gpu.pointer() + "/startupProbe",
                     .message = "the model has " + std::to_string(budget) +
                                " s to load: a cold start of a large one takes longer, is killed and starts again",
                     .fix = "allow at least 10 minutes: failureThreshold × periodSeconds of 600",
                     .patch = patch.take()});
  }
  return found;
}

Founds liveness_aggressive(const Subject& subject) {
  Founds found;
  for (const GpuContainer& gpu : subject.containers) {
    const Json& liveness = member(*gpu.container->json, "livenessProbe");
    if (!liveness.is_object() || budget_of(liveness) >= kPatienceSeconds) continue;
    PatchWriter patch(subject.object());
    patch.set(gpu.pointer() + "/livenessProbe/failureThreshold", rounds(kPatienceSeconds, period_of(liveness)));
    found.push_back({.pointer = gpu.pointer() + "/livenessProbe",
                     .message = "an engine that does not answer for " + std::to_string(budget_of(liveness)) +
                                " s is killed, and with it all requests in flight: under load it may answer later",
                     .fix = "let it fail for at least a minute: periodSeconds 30 and failureThreshold 3",
                     .patch = patch.take()});
  }
  return found;
}

Founds readiness_probe(const Subject& subject) {
  Founds found;
  for (const GpuContainer& gpu : subject.containers) {
    if (!gpu.serves || member(*gpu.container->json, "readinessProbe").is_object()) continue;
    PatchWriter patch(subject.object());
    if (Json probe = readiness_of(gpu); !probe.empty()) patch.set(gpu.pointer() + "/readinessProbe", std::move(probe));
    const bool known = gpu.engine.facts != nullptr;
    found.push_back(
        {.pointer = gpu.pointer() + "/readinessProbe",
         .message = "there is no readiness probe: requests are sent to the pod while the model still loads",
         .fix = "add a readiness probe" + (known ? " on GET " + gpu.engine.facts->readiness.path : std::string()),
         .patch = patch.take()});
  }
  return found;
}

}  // namespace inference::audit
