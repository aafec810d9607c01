#include "audit/workload.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/json_members.h"

namespace inference::audit {
namespace {

/// Where each kind keeps its pod template.
struct KindPlace {
  std::string_view kind;
  std::string_view group;  // of the apiVersion; the core group is ""
  std::string_view pointer;
  Role role;
};

constexpr std::array kPlaces = {
    KindPlace{"Pod", "", "", Role::kServer},
    KindPlace{"Deployment", "apps", "/spec/template", Role::kServer},
    KindPlace{"StatefulSet", "apps", "/spec/template", Role::kServer},
    KindPlace{"DaemonSet", "apps", "/spec/template", Role::kServer},
    KindPlace{"ReplicaSet", "apps", "/spec/template", Role::kServer},
    KindPlace{"Job", "batch", "/spec/template", Role::kTask},
    KindPlace{"CronJob", "batch", "/spec/jobTemplate/spec/template", Role::kTask},
    KindPlace{"LeaderWorkerSet", "leaderworkerset.x-k8s.io", "/spec/leaderWorkerTemplate/workerTemplate",
              Role::kWorker},
};
constexpr std::string_view kLeaderTemplate = "/spec/leaderWorkerTemplate/leaderTemplate";

const KindPlace* place_of(std::string_view api_version, std::string_view kind) {
  const std::size_t slash = api_version.find('/');
  const std::string_view group = slash == std::string_view::npos ? std::string_view() : api_version.substr(0, slash);
  const auto found =
      std::ranges::find_if(kPlaces, [&](const KindPlace& place) { return place.kind == kind && place.group == group; });
  return found == kPlaces.end() ? nullptr : &*found;
}

/// What lies at a pointer of plain keys; null when it is not there.
const Json* at_pointer(const Json& object, std::string_view pointer) {
  const Json* place = &object;
  while (!pointer.empty()) {
    const std::size_t end = std::min(pointer.find('/', 1), pointer.size());
    const auto found = place->find(std::string(pointer.substr(1, end - 1)));
    if (found == place->end()) return nullptr;
    place = &*found;
    pointer.remove_prefix(end);
  }
  return place;
}

std::string amount_at(const Json& container, const char* list, std::string_view resource) {
  const Json& amount = member(member(container, "resources"), list);
  const auto found = amount.find(std::string(resource));
  if (found == amount.end() || (!found->is_string() && !found->is_number())) return {};
  return found->is_string() ? found->get<std::string>() : found->dump();
}

void add_containers(PodTemplate& pod, const char* list) {
  const Json& containers = member(pod.spec(), list);
  if (!containers.is_array()) return;
  const bool init = std::string_view(list) == "initContainers";
  for (std::size_t i = 0; i < containers.size(); ++i) {
    if (!containers[i].is_object()) continue;
    const bool sidecar = init && text_at(containers[i], "restartPolicy") == "Always";
    pod.containers.push_back({.kind = sidecar ? Container::Kind::kSidecar
                                      : init  ? Container::Kind::kInit
                                              : Container::Kind::kMain,
                              .pointer = pod.spec_pointer() + "/" + list + "/" + std::to_string(i),
                              .json = &containers[i]});
  }
}

void add_template(Workload& workload, std::string_view pointer, Role role) {
  const Json* json = at_pointer(*workload.object, pointer);
  if (json == nullptr || !member(*json, "spec").is_object()) return;
  PodTemplate pod{.role = role, .pointer = std::string(pointer), .json = json, .containers = {}};
  add_containers(pod, "initContainers");
  add_containers(pod, "containers");
  workload.templates.push_back(std::move(pod));
}

/// How many pods, or groups, run at once.
std::int64_t replicas_of(const Workload& workload) {
  const Json& spec = member(*workload.object, "spec");
  if (workload.kind == "Pod") return 1;
  if (workload.kind == "DaemonSet") return 2;
  if (workload.kind == "Job") return integer_at(spec, "parallelism", 1);
  if (workload.kind == "CronJob") return integer_at(member(member(spec, "jobTemplate"), "spec"), "parallelism", 1);
  return integer_at(spec, "replicas", 1);
}

}  // namespace

std::string Container::name() const {
  return text_at(*json, "name");
}

std::string Container::title() const {
  const std::string name = this->name().empty() ? "without a name" : this->name();
  switch (kind) {
    case Kind::kMain:
      return "container " + name;
    case Kind::kInit:
      return "init container " + name;
    case Kind::kSidecar:
      break;
  }
  return "sidecar " + name;
}

std::string Container::limit(std::string_view resource) const {
  return amount_at(*json, "limits", resource);
}

std::string Container::request(std::string_view resource) const {
  return amount_at(*json, "requests", resource);
}

const Json& PodTemplate::metadata() const {
  return member(*json, "metadata");
}

const Json& PodTemplate::spec() const {
  return member(*json, "spec");
}

std::string Workload::title() const {
  const std::string of = name.empty() ? text_at(member(*object, "metadata"), "generateName") : name;
  return kind + (of.empty() ? "" : " " + (ns.empty() ? of : ns + "/" + of));
}

bool is_workload_kind(std::string_view kind) {
  return std::ranges::find(kPlaces, kind, &KindPlace::kind) != kPlaces.end();
}

std::optional<Workload> read_workload(const Object& object) {
  const KindPlace* place = place_of(text_at(*object, "apiVersion"), text_at(*object, "kind"));
  if (place == nullptr) return std::nullopt;
  const Json& metadata = member(*object, "metadata");
  Workload workload{.object = object,
                    .api_version = text_at(*object, "apiVersion"),
                    .kind = std::string(place->kind),
                    .ns = text_at(metadata, "namespace"),
                    .name = text_at(metadata, "name"),
                    .templates = {}};
  workload.replicas = replicas_of(workload);
  if (place->kind == "LeaderWorkerSet") {
    const Json& groups = member(member(*object, "spec"), "leaderWorkerTemplate");
    workload.group_size = integer_at(groups, "size", 1);
    add_template(workload, kLeaderTemplate, Role::kLeader);
  }
  // Without a template of its own the leader is made from the workers', which then serves.
  const bool leads = place->role == Role::kWorker && workload.templates.empty();
  add_template(workload, place->pointer, leads ? Role::kLeader : place->role);
  if (workload.templates.empty()) return std::nullopt;
  return workload;
}

}  // namespace inference::audit
