#include <algorithm>

#include "audit/amount.h"
#include "audit/patch.h"
#include "audit/rules.h"
#include "audit/volumes.h"
#include "base/json_members.h"

namespace inference::audit {
namespace {

using crd::Quantity;

constexpr std::string_view kShm = "/dev/shm";

/// How many processes may exchange data: by GPUs, else by what the engine is told.
std::optional<std::int64_t> processes_of(const GpuContainer& gpu) {
  return gpu.devices.count ? gpu.devices.count : gpu.engine.tensor;
}

Quantity wanted_size(const GpuContainer& gpu, const render::Knowledge& knowledge) {
  const Quantity least = *Quantity::parse(knowledge.rules.shared_memory_minimum.value);
  const Quantity per_gpu = *Quantity::parse(knowledge.rules.shared_memory_per_gpu.value);
  return std::max(least, per_gpu * processes_of(gpu).value_or(1));
}

/// Mounts a volume in memory; nothing where the memory limit has no room for it.
Json mount_patch(const Subject& subject, const GpuContainer& gpu, const Quantity& size) {
  const auto limit = amount(gpu.container->limit("memory"));
  if (limit && *limit < size * 2) return Json::array();
  PatchWriter patch(subject.object());
  const std::string volumes = gpu.pod->spec_pointer() + "/volumes";
  patch.append(volumes, {{"name", "dshm"}, {"emptyDir", {{"medium", "Memory"}, {"sizeLimit", size.to_string()}}}});
  patch.append(gpu.pointer() + "/volumeMounts", {{"name", "dshm"}, {"mountPath", kShm}});
  return patch.take();
}

Found missing_shm(const Subject& subject, const GpuContainer& gpu, const std::vector<Mount>& mounts) {
  const Quantity size = wanted_size(gpu, *subject.knowledge);
  const bool host = member(gpu.pod->spec(), "hostIPC") == true;
  const bool taken = std::ranges::any_of(mounts, [](const Mount& mount) { return mount.name == "dshm"; });
  return {
      .pointer = host ? gpu.pod->spec_pointer() + "/hostIPC" : gpu.pointer() + "/volumeMounts",
      .message = host ? "/dev/shm is the node's own (hostIPC): of no known size, shared with all that runs there, "
                        "and not counted in the memory limit"
                      : "/dev/shm is the runtime's 64 MiB: NCCL and engines of several processes fail or stall on it",
      .fix = "mount an emptyDir with medium Memory and sizeLimit " + size.to_string() +
             " at /dev/shm, and count it in the memory limit" + (host ? "; leave hostIPC out" : ""),
      .patch = taken || host ? Json::array() : mount_patch(subject, gpu, size)};
}

/// What is wrong with the volume that is mounted at /dev/shm.
std::optional<Found> shm_fault(const Subject& subject, const GpuContainer& gpu, const Mount& mount) {
  const Json& directory = member(*mount.volume, "emptyDir");
  const std::string place = mount.volume_pointer + "/emptyDir";
  if (!mount.volume->contains("emptyDir"))
    return Found{.pointer = mount.volume_pointer,
                 .message =
                     "what is mounted at /dev/shm is no memory of this pod: of no known size, and not counted in "
                     "the memory limit",
                 .fix = "mount an emptyDir with medium Memory and a sizeLimit there"};
  if (text_at(directory, "medium") != "Memory") {
    PatchWriter patch(subject.object());
    patch.set(place + "/medium", "Memory");
    return Found{.pointer = place,
                 .message = "/dev/shm lies on the node's disk: the emptyDir has no medium Memory",
                 .fix = "set medium: Memory, and count the size in the memory limit",
                 .patch = patch.take()};
  }
  const Json& written = member(directory, "sizeLimit");
  const std::string text = written.is_number() ? written.dump() : text_at(directory, "sizeLimit");
  const auto limit = amount(gpu.container->limit("memory"));
  const auto size =
      amount(text).has_value() ? amount(text) : limit;  // without a limit of its own it may fill the pod's
  if (!size) return std::nullopt;
  const Quantity least = *Quantity::parse(subject.knowledge->rules.shared_memory_minimum.value);
  if (processes_of(gpu).value_or(1) > 1 && *size < least) {
    const Quantity wanted = wanted_size(gpu, *subject.knowledge);
    PatchWriter patch(subject.object());
    if (!limit || *limit >= wanted * 2) patch.set(place + "/sizeLimit", wanted.to_string());
    return Found{
        .pointer = place + "/sizeLimit",
        .message = "/dev/shm of " + size->to_string() + " is small for " + std::to_string(*processes_of(gpu)) + " GPUs",
        .fix = "set sizeLimit to " + wanted.to_string() + ", and count it in the memory limit",
        .patch = patch.take()};
  }
  if (amount(text) && limit && *amount(text) >= *limit)
    return Found{.pointer = place + "/sizeLimit",
                 .message = "/dev/shm may take " + text + ", which the memory limit of " + limit->to_string() +
                            " does not count: filling it kills the container",
                 .fix = "raise the memory limit by the size of /dev/shm"};
  return std::nullopt;
}

}  // namespace

Founds shm_size(const Subject& subject) {
  Founds found;
  for (const GpuContainer& gpu : subject.containers) {
    const std::vector<Mount> mounts = mounts_of(*subject.workload, *gpu.pod, *gpu.container);
    const auto shm = std::ranges::find(mounts, kShm, &Mount::path);
    if (shm == mounts.end()) {
      found.push_back(missing_shm(subject, gpu, mounts));
    } else if (shm->volume != nullptr) {
      if (auto fault = shm_fault(subject, gpu, *shm)) found.push_back(std::move(*fault));
    }
  }
  return found;
}

}  // namespace inference::audit
