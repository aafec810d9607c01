#include <algorithm>
#include <string>

#include "audit/patch.h"
#include "audit/rules.h"
#include "base/json_members.h"

namespace inference::audit {
namespace {

/// Arguments that its version ends on.
void find_arguments(const GpuContainer& gpu, Founds& found) {
  const auto& removed = gpu.engine.facts->removed_arguments;
  for (const Word& word : gpu.engine.words) {
    if (!word.text.starts_with("--")) continue;
    const std::string name = render::flag_name(word.text);
    if (std::ranges::find(removed, name) == removed.end()) continue;
    found.push_back({.pointer = word.pointer,
                     .message = gpu.engine.name + " " + gpu.engine.version_text + " has no " + name +
                                " any more and ends with an error",
                     .fix = "leave " + name + " out, or use what took its place"});
  }
}

/// Variables that its version does not read.
void find_variables(const Subject& subject, const GpuContainer& gpu, Founds& found) {
  for (const std::string& name : gpu.engine.facts->removed_environment) {
    const auto variable = find_variable(*gpu.container, name);
    if (!variable) continue;
    PatchWriter patch(subject.object());
    patch.remove(variable->pointer);
    found.push_back({.pointer = variable->pointer,
                     .message = gpu.engine.name + " " + gpu.engine.version_text + " does not read " + name +
                                " any more: what it should do is not done",
                     .fix = "leave " + name + " out, or use the flag that took its place",
                     .patch = patch.take()});
  }
}

}  // namespace

Founds service_links(const Subject& subject) {
  Founds found;
  for (const PodTemplate* pod : subject.pods) {
    const bool vllm = std::ranges::any_of(
        subject.containers, [&](const GpuContainer& gpu) { return gpu.pod == pod && gpu.engine.name == "vllm"; });
    if (!vllm || member(pod->spec(), "enableServiceLinks") == false) continue;
    PatchWriter patch(subject.object());
    patch.set(pod->spec_pointer() + "/enableServiceLinks", false);
    found.push_back({.pointer = pod->spec_pointer() + "/enableServiceLinks",
                     .message = "a Service named vllm in the namespace sets VLLM_PORT to a URL, and vLLM ends with an "
                                "error",
                     .fix = "set enableServiceLinks: false",
                     .patch = patch.take()});
  }
  return found;
}

Founds removed_flags(const Subject& subject) {
  Founds found;
  for (const GpuContainer& gpu : subject.containers) {
    if (!gpu.engine.is_newest()) continue;  // of other versions it is not known
    find_arguments(gpu, found);
    find_variables(subject, gpu, found);
  }
  return found;
}

}  // namespace inference::audit
