#include <algorithm>
#include <array>

#include "audit/drain.h"
#include "audit/patch.h"
#include "audit/rules.h"
#include "base/json_members.h"
#include "base/parse_integer.h"

namespace inference::audit {
namespace {

constexpr std::int64_t kDefaultGrace = 30;  // Kubernetes'
constexpr std::int64_t kShortGrace = 60;    // an ordinary long generation takes longer
constexpr std::int64_t kHookSeconds = 15;   // what a patch writes: gateways drop an endpoint within it
constexpr std::int64_t kLongest = 1 << 30;

/// The seconds of `sleep 15` and its like; 0 for what is no number.
std::int64_t sleep_seconds(const std::string& text) {
  std::string_view number = text;
  std::int64_t unit = 1;
  if (number.ends_with('s')) number.remove_suffix(1);
  if (number.ends_with('m')) {
    number.remove_suffix(1);
    unit = 60;
  }
  number = number.substr(0, number.find('.'));
  return std::clamp<std::int64_t>(parse_integer<std::int64_t>(number).value_or(0), 0, kLongest / 60) * unit;
}

/// Words after which nobody can tell how long a script takes.
bool waits_for_something(const std::string& word) {
  static constexpr std::array kWaiting = {"while", "until", "for", "wait", "timeout", "inotifywait", "tail"};
  static constexpr std::array kPrograms = {".sh", ".py", "drain", "wait", "shutdown", "prestop", "preStop"};
  return std::ranges::find(kWaiting, word) != kWaiting.end() ||
         std::ranges::any_of(kPrograms, [&](const char* part) { return word.find(part) != std::string::npos; });
}

HookTime exec_time(const Json& exec, const Constants& constants) {
  const Words words = command_words(exec, "", constants);
  HookTime time{.seconds = 0, .known = true};
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i].text;
    const bool sleeps = (word == "sleep" || word.ends_with("/sleep")) && i + 1 < words.size();
    if (sleeps) {
      const std::int64_t seconds = sleep_seconds(words[i + 1].text);
      if (seconds == 0) time.known = false;  // $SECONDS, or a fraction
      time.seconds = std::min(time.seconds + seconds, kLongest);
    }
    if (waits_for_something(word)) time.known = false;
    // Programs of an image of its own, which nobody here knows.
    if (i == 0 && word.starts_with('/') && !word.starts_with("/bin/") && !word.starts_with("/usr/bin/"))
      time.known = false;
  }
  if (std::ranges::any_of(words, [](const Word& word) { return word.text.find("time.sleep") != std::string::npos; }))
    time.known = false;
  return time;
}

std::int64_t written_grace(const PodTemplate& pod) {
  return integer_at(pod.spec(), "terminationGracePeriodSeconds", kDefaultGrace);
}

/// Adds a hook that outlasts the removal of the endpoint, where there is none.
Json hook_patch(const Subject& subject, const GpuContainer& gpu, std::int64_t seconds) {
  PatchWriter patch(subject.object());
  patch.set(gpu.pointer() + "/lifecycle/preStop", {{"sleep", {{"seconds", seconds}}}});
  return patch.take();
}

/// The fault of a hook that is there; nothing where it is long enough, or nobody can tell.
std::optional<std::string> hook_fault(const GpuContainer& gpu, const HookTime& hook, std::int64_t propagation) {
  const Json& pre_stop = member(member(*gpu.container->json, "lifecycle"), "preStop");
  if (member(pre_stop, "httpGet").is_object() && gpu.engine.facts != nullptr &&
      gpu.engine.facts->drain.post_path.value.empty())
    return "the preStop hook asks " + gpu.engine.name + " itself, which has nothing that answers when it is idle";
  if (!hook.known || hook.seconds >= propagation) return std::nullopt;
  return "the preStop hook ends after " + std::to_string(hook.seconds) +
         " s, while proxies still send requests to the pod";
}

}  // namespace

std::optional<HookTime> hook_time(const GpuContainer& gpu) {
  const Json& hook = member(member(*gpu.container->json, "lifecycle"), "preStop");
  if (member(hook, "sleep").is_object()) {
    const std::int64_t seconds = integer_at(member(hook, "sleep"), "seconds", 0);
    return HookTime{.seconds = std::clamp<std::int64_t>(seconds, 0, kLongest), .known = true};
  }
  if (member(hook, "exec").is_object()) return exec_time(member(hook, "exec"), gpu.engine.constants);
  if (member(hook, "httpGet").is_object()) return HookTime{.seconds = 0, .known = false};
  return std::nullopt;  // a tcpSocket hook is not run
}

bool carries_requests(const Subject& subject, const GpuContainer& gpu) {
  if (gpu.serves) return true;
  if (gpu.pod->role != Role::kWorker || gpu.engine.trains) return false;
  // Some engines' workers wait for their leader by themselves; of an unknown engine's nothing is known.
  return subject.workload->group_size > 1 && gpu.engine.facts != nullptr &&
         gpu.engine.facts->drain.workers.value != "wait";
}

Founds drain_hook(const Subject& subject) {
  Founds found;
  const std::int64_t propagation = subject.knowledge->rules.propagation_wait.value;
  for (const GpuContainer& gpu : subject.containers) {
    if (!carries_requests(subject, gpu)) continue;
    const std::string place = gpu.pointer() + "/lifecycle/preStop";
    const auto hook = hook_time(gpu);
    const bool worker = gpu.pod->role == Role::kWorker;
    if (!hook) {
      found.push_back(
          {.pointer = place,
           .message = worker
                          ? "there is no preStop hook: the worker ends at once and cuts the requests of its leader"
                          : "there is no preStop hook: the engine ends while requests are in flight and more are sent",
           .fix = worker ? "add a preStop hook that outlasts the leader's drain"
                         : "add a preStop hook that waits for the endpoint's removal and then until the engine is idle",
           .patch = worker ? Json::array() : hook_patch(subject, gpu, kHookSeconds)});
    } else if (const auto fault = hook_fault(gpu, *hook, propagation)) {
      found.push_back({.pointer = place,
                       .message = *fault,
                       .fix = "wait at least " + std::to_string(propagation) +
                              " s for the endpoint's removal, then until the engine is idle"});
    }
  }
  return found;
}

Founds grace_period(const Subject& subject) {
  Founds found;
  for (const PodTemplate* pod : subject.pods) {
    std::int64_t needed = 0;
    std::string sum;
    bool carries = false;
    for (const GpuContainer& gpu : subject.containers) {
      if (gpu.pod != pod || !carries_requests(subject, gpu)) continue;
      carries = true;
      const std::int64_t hook = hook_time(gpu).value_or(HookTime{}).seconds;
      const std::int64_t drain = std::clamp<std::int64_t>(gpu.engine.own_drain.value_or(0), 0, kLongest);
      if (hook + drain <= needed) continue;
      needed = hook + drain;
      sum = std::to_string(hook) + " s of preStop and " + std::to_string(drain) + " s of the engine's own drain";
    }
    const std::int64_t grace = written_grace(*pod);
    if (!carries || (grace > kShortGrace && grace >= needed)) continue;
    const bool written = member(pod->spec(), "terminationGracePeriodSeconds").is_number_integer();
    const std::int64_t teardown = subject.knowledge->rules.teardown.value;
    const std::int64_t enough = std::max<std::int64_t>(needed + teardown, kHookSeconds + 300 + teardown);
    PatchWriter patch(subject.object());
    patch.set(pod->spec_pointer() + "/terminationGracePeriodSeconds", enough);
    const std::string time = std::to_string(grace) + " s" + (written ? "" : " (Kubernetes' default)");
    found.push_back({.pointer = pod->spec_pointer() + "/terminationGracePeriodSeconds",
                     .message = grace > kShortGrace
                                    ? "SIGKILL comes after " + time + ", before the " + sum + " are over"
                                    : "SIGKILL comes after " + time + ": longer generations are cut at every deploy",
                     .fix = "set it above preStop, the longest generation and " + std::to_string(teardown) +
                            " s to end, for example " + std::to_string(enough),
                     .patch = patch.take()});
  }
  return found;
}

}  // namespace inference::audit
