#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "audit/patch.h"
#include "audit/rules.h"
#include "audit/volumes.h"
#include "base/json_members.h"

namespace inference::audit {
namespace {

bool is_remote_uri(std::string_view text) {
  static constexpr std::array kSchemes = {"hf://",    "s3://",  "gs://",         "gcs://", "r2://",  "http://",
                                          "https://", "oci://", "modelscope://", "az://",  "abfs://"};
  return std::ranges::any_of(kSchemes, [&](const char* scheme) { return text.starts_with(scheme); });
}

/// `org/name` of a hub.
bool is_hub_name(std::string_view text) {
  const std::size_t slash = text.find('/');
  const bool one_slash = slash != std::string_view::npos && slash == text.rfind('/');
  if (!one_slash || slash == 0 || slash + 1 == text.size()) return false;
  return std::ranges::all_of(text,
                             [](char c) {
                               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                                      c == '/' || c == '-' || c == '_' || c == '.';
                             }) &&
         text.front() != '.';
}

/// Where an engine keeps what it takes from the hub.
std::string hub_cache(const GpuContainer& gpu) {
  const auto download = find_flag(gpu.engine.words, {"--download-dir"});
  if (download) return download->value;
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "TRANSFORMERS_CACHE"}) {
    const auto set = gpu.engine.constants.find(std::string_view(name));
    if (set != gpu.engine.constants.end()) return set->second;
  }
  return gpu.engine.name == "tgi" ? "/data" : "/root/.cache/huggingface";
}

bool is_offline(const GpuContainer& gpu) {
  return std::ranges::any_of(std::array{"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"}, [&](const char* name) {
    const auto set = gpu.engine.constants.find(std::string_view(name));
    return set != gpu.engine.constants.end() && (set->second == "1" || set->second == "true" || set->second == "True");
  });
}

/// A training reads its weights once, and writes others.
bool loads_models(const GpuContainer& gpu) {
  return !gpu.engine.trains && (gpu.pod->role != Role::kTask || !gpu.engine.name.empty());
}

bool is_on_node(const Mount* mount) {
  return mount != nullptr && mount->volume != nullptr &&
         (mount->volume->contains("hostPath") || mount->volume->contains("image"));
}

/// The claim behind a mount, of the input or of the workload's own templates; null when it is none, or not known.
const Json* claim_of(const Subject& subject, const Mount& mount) {
  if (mount.volume == nullptr) return nullptr;
  if (mount.volume_pointer.find("/volumeClaimTemplates/") != std::string::npos) return mount.volume;
  const Json& ephemeral = member(member(*mount.volume, "ephemeral"), "volumeClaimTemplate");
  if (ephemeral.is_object()) return &ephemeral;
  const std::string name = text_at(member(*mount.volume, "persistentVolumeClaim"), "claimName");
  return name.empty() ? nullptr : subject.around->find("PersistentVolumeClaim", subject.workload->ns, name);
}

/// Drivers that show a bucket or a file server as a folder.
bool is_network_driver(std::string_view driver) {
  static constexpr std::array kParts = {"gcsfuse", "s3.csi", "blob.csi", "file.csi", "filestore.csi",
                                        "efs.csi", "fsx.",   "nfs.csi",  "lustre",   "cephfs"};
  return std::ranges::any_of(kParts, [&](const char* part) { return driver.contains(part); });
}

bool is_shared_storage(const Subject& subject, const Mount& mount) {
  if (mount.volume != nullptr && mount.volume->contains("nfs")) return true;
  if (mount.volume != nullptr && is_network_driver(text_at(member(*mount.volume, "csi"), "driver"))) return true;
  const Json* claim = claim_of(subject, mount);
  const Json& modes = claim == nullptr ? Json() : member(member(*claim, "spec"), "accessModes");
  return std::ranges::any_of(modes, [](const Json& mode) { return mode == "ReadWriteMany"; });
}

/// A mount that holds models: the engine's model lies in it, or its name says so.
bool holds_models(const GpuContainer& gpu, const std::vector<Mount>& mounts, const Mount& mount) {
  if (mount.path == "/dev/shm") return false;
  if (gpu.engine.model.starts_with('/') && mount_of_path(mounts, gpu.engine.model) == &mount) return true;
  const std::string names = mount.path + " " + mount.name;
  return names.contains("model") || names.contains("weights") || names.contains("huggingface");
}

bool is_hub_cache(const GpuContainer& gpu, const std::vector<Mount>& mounts, const Mount& mount) {
  return mount_of_path(mounts, hub_cache(gpu)) == &mount || mount.path.contains(".cache");
}

/// What in a command fetches weights; empty when nothing does.
std::string download_in(const Words& words) {
  static constexpr std::array<std::array<std::string_view, 2>, 15> kCommands = {{{"hf", "download"},
                                                                                 {"huggingface-cli", "download"},
                                                                                 {"modelscope", "download"},
                                                                                 {"aws", "s3"},
                                                                                 {"gcloud", "storage"},
                                                                                 {"gsutil", ""},
                                                                                 {"s5cmd", ""},
                                                                                 {"rclone", ""},
                                                                                 {"azcopy", ""},
                                                                                 {"wget", ""},
                                                                                 {"aria2c", ""},
                                                                                 {"oras", "pull"},
                                                                                 {"git", "clone"},
                                                                                 {"git", "lfs"},
                                                                                 {"mc", "cp"}}};
  for (const auto& [program, verb] : kCommands) {
    if (verb.empty() ? calls(words, {program}) : calls(words, {program, verb}))
      return std::string(program) + (verb.empty() ? "" : " " + std::string(verb));
  }
  if (calls(words, {"curl"}) && find_flag(words, {"-o", "-O", "--output", "--remote-name", "-LO", "-Lo"}))
    return "curl";
  const bool snapshot = std::ranges::any_of(words, [](const Word& word) {
    return word.text.contains("snapshot_download") || word.text.contains("hf_hub_download");
  });
  return snapshot ? "snapshot_download" : "";
}

std::optional<Found> downloader_fault(const Container& container, const render::Knowledge& knowledge) {
  if (container.kind != Container::Kind::kInit) return std::nullopt;
  std::string by = download_in(engine_of(container, knowledge).words);
  if (by.empty() && text_at(*container.json, "image").contains("storage-initializer")) by = "storage-initializer";
  if (by.empty()) return std::nullopt;
  return Found{.pointer = container.pointer,
               .message = container.title() + " downloads (" + by + ") at every start of every pod",
               .fix = "fill a folder of the node once, and mount it read-only"};
}

std::optional<Found> model_fault(const GpuContainer& gpu, const std::vector<Mount>& mounts) {
  const std::string& model = gpu.engine.model;
  const bool remote = is_remote_uri(model);
  if (!remote && (!is_hub_name(model) || is_offline(gpu))) return std::nullopt;
  const Mount* cache = mount_of_path(mounts, hub_cache(gpu));
  const bool from_hub = !remote || model.starts_with("hf://");
  if (from_hub && is_on_node(cache)) return std::nullopt;
  const bool kept = from_hub && cache != nullptr && cache->volume != nullptr && !cache->volume->contains("emptyDir");
  return Found{.pointer = gpu.engine.model_pointer,
               .message = "the weights of " + model + " come over the network " +
                          (kept ? "into " + cache->path + ", which is no folder of the node"
                                : std::string("at every start of every pod")),
               .fix = "fill a folder of the node once, mount it read-only and name the model by its path there"};
}

/// Variables beside the engine's own that name weights in an object store.
void find_stores(const GpuContainer& gpu, Founds& found) {
  for (const auto& [name, value] : gpu.engine.constants) {
    const bool weights = name.contains("MODEL") || name.contains("WEIGHT") || name == "STORAGE_URI";
    if (!weights || !is_remote_uri(value) || value.starts_with("http") || value == gpu.engine.model) continue;
    const auto variable = find_variable(*gpu.container, name);
    if (!variable) continue;
    found.push_back({.pointer = variable->pointer + "/value",
                     .message = name + " names weights that come over the network (" + value + ")",
                     .fix = "fill a folder of the node once, mount it read-only and name the model by its path there"});
  }
}

/// Volumes of models that are filled for each pod, or shared by all nodes.
void find_volumes(const Subject& subject, const GpuContainer& gpu, const std::vector<Mount>& mounts, Founds& found) {
  for (const Mount& mount : mounts) {
    if (!holds_models(gpu, mounts, mount) || mount.volume == nullptr) continue;
    const bool per_pod = mount.volume->contains("emptyDir") || mount.volume->contains("ephemeral");
    if (!per_pod && !is_shared_storage(subject, mount)) continue;
    found.push_back({.pointer = mount.volume_pointer,
                     .message = per_pod ? "models lie in a volume that ends with the pod: each start fills it anew"
                                        : "models lie on shared storage: all pods load over the network, at once after "
                                          "each rollout",
                     .fix = "mount a folder of the node that is filled once"});
  }
}

}  // namespace

Founds node_local_cache(const Subject& subject) {
  Founds found;
  for (const PodTemplate* pod : subject.pods) {
    const bool loads = std::ranges::any_of(
        subject.containers, [&](const GpuContainer& gpu) { return gpu.pod == pod && loads_models(gpu); });
    for (const Container& container : pod->containers) {
      if (!loads) continue;
      if (auto fault = downloader_fault(container, *subject.knowledge)) found.push_back(std::move(*fault));
    }
  }
  for (const GpuContainer& gpu : subject.containers) {
    if (!loads_models(gpu)) continue;
    const std::vector<Mount> mounts = mounts_of(*subject.workload, *gpu.pod, *gpu.container);
    if (auto fault = model_fault(gpu, mounts)) found.push_back(std::move(*fault));
    find_stores(gpu, found);
    find_volumes(subject, gpu, mounts, found);
  }
  return found;
}

Founds models_read_only(const Subject& subject) {
  Founds found;
  for (const GpuContainer& gpu : subject.containers) {
    if (!loads_models(gpu)) continue;
    const std::vector<Mount> mounts = mounts_of(*subject.workload, *gpu.pod, *gpu.container);
    for (const Mount& mount : mounts) {
      if (mount.read_only || mount.volume == nullptr || !holds_models(gpu, mounts, mount)) continue;
      // What is pulled into must be written; an image is never written, and an emptyDir is the pod's own.
      const bool pulled = !gpu.engine.model.starts_with('/') && is_hub_cache(gpu, mounts, mount);
      const Json& volume = *mount.volume;
      const bool read_only = member(member(volume, "persistentVolumeClaim"), "readOnly") == true ||
                             member(member(volume, "csi"), "readOnly") == true ||
                             member(member(volume, "nfs"), "readOnly") == true;
      if (pulled || read_only || volume.contains("image") || volume.contains("emptyDir") ||
          volume.contains("configMap"))
        continue;
      PatchWriter patch(subject.object());
      patch.set(mount.pointer + "/readOnly", true);
      found.push_back({.pointer = mount.pointer,
                       .message = "the models at " + mount.path + " can be written: one pod can damage them for all",
                       .fix = "set readOnly: true",
                       .patch = patch.take()});
    }
  }
  return found;
}

}  // namespace inference::audit
