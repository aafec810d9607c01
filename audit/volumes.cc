#include "audit/volumes.h"

#include <utility>

#include "base/json_members.h"

namespace inference::audit {
namespace {

void find_volume(const Json& volumes, const std::string& pointer, Mount& mount) {
  if (!volumes.is_array() || mount.volume != nullptr) return;
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    const std::string own = text_at(volumes[i], "name");
    if ((own.empty() ? text_at(member(volumes[i], "metadata"), "name") : own) != mount.name) continue;
    mount.volume = &volumes[i];
    mount.volume_pointer = pointer + "/" + std::to_string(i);
    return;
  }
}

}  // namespace

std::vector<Mount> mounts_of(const Workload& workload, const PodTemplate& pod, const Container& container) {
  std::vector<Mount> mounts;
  const Json& entries = member(*container.json, "volumeMounts");
  if (!entries.is_array()) return mounts;
  const Json& spec = member(*workload.object, "spec");
  for (std::size_t i = 0; i < entries.size(); ++i) {
    std::string path = text_at(entries[i], "mountPath");
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    if (path.empty()) continue;
    Mount mount{.pointer = container.pointer + "/volumeMounts/" + std::to_string(i),
                .path = std::move(path),
                .name = text_at(entries[i], "name"),
                .read_only = member(entries[i], "readOnly") == true,
                .volume_pointer = {}};
    find_volume(member(pod.spec(), "volumes"), pod.spec_pointer() + "/volumes", mount);
    find_volume(member(spec, "volumeClaimTemplates"), "/spec/volumeClaimTemplates", mount);
    find_volume(member(member(spec, "leaderWorkerTemplate"), "volumeClaimTemplates"),
                "/spec/leaderWorkerTemplate/volumeClaimTemplates", mount);
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

const Mount* mount_of_path(const std::vector<Mount>& mounts, std::string_view path) {
  const Mount* nearest = nullptr;
  for (const Mount& mount : mounts) {
    const bool above = path == mount.path || path.starts_with(mount.path + "/") || mount.path == "/";
    if (above && (nearest == nullptr || mount.path.size() > nearest->path.size())) nearest = &mount;
  }
  return nearest;
}

}  // namespace inference::audit
