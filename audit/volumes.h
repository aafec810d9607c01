#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/workload.h"

namespace inference::audit {

/// A mount of a container together with the pod's volume behind it.
struct Mount {
  std::string pointer;  // of the mount
  std::string path;     // without a trailing slash
  std::string name;     // of the volume
  bool read_only = false;
  const Json* volume = nullptr;  // null where the pod has no such volume
  std::string volume_pointer;
};

/// The container's mounts. A StatefulSet's and a LeaderWorkerSet's volumeClaimTemplates count as volumes of the pod.
[[nodiscard]] std::vector<Mount> mounts_of(const Workload& workload, const PodTemplate& pod,
                                           const Container& container);

/// The mount at, or nearest above, a path; null when none is.
[[nodiscard]] const Mount* mount_of_path(const std::vector<Mount>& mounts, std::string_view path);

}  // namespace inference::audit
