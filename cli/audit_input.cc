#include "cli/audit_input.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "audit/workload.h"
#include "base/json_members.h"
#include "cli/files.h"

namespace inference::cli {
namespace {

void add_content(AuditInput& input, const std::string& file, const std::string& text, Diagnostics& others) {
  FileContent content = read_manifests(file, text);
  Diagnostics& faults = content.is_yaml ? others : input.faults;
  std::ranges::move(content.faults, std::back_inserter(faults));
  for (Manifest& manifest : content.manifests) {
    const auto shared = std::make_shared<const Manifest>(std::move(manifest));
    input.objects.emplace_back(shared, &shared->object);
    input.manifests.push_back(shared);
  }
}

void add_folder(AuditInput& input, const std::string& folder) {
  const auto files = read_folder(folder, {".yaml", ".yml", ".json"});
  if (!files) {
    input.faults.push_back(files.error());
    return;
  }
  const std::string slash = folder.ends_with('/') ? "" : "/";
  for (const auto& [name, text] : *files) add_content(input, folder + slash + name, text, input.notes);
}

/// Whether a workload that is judged itself has made the object.
bool is_made_by_another(const Json& object) {
  const Json& owners = member(member(object, "metadata"), "ownerReferences");
  return owners.is_array() && std::ranges::any_of(owners, [](const Json& owner) {
           return member(owner, "controller") == true && audit::is_workload_kind(text_at(owner, "kind"));
         });
}

bool has_ended(const Json& object) {
  const std::string phase = text_at(member(object, "status"), "phase");
  return text_at(object, "kind") == "Pod" && (phase == "Succeeded" || phase == "Failed");
}

const std::vector<client::Resource>& audited_kinds() {
  using namespace client::resources;
  static const std::vector<client::Resource> kKinds = {
      kLeaderWorkerSet,
      kDeployment,
      kStatefulSet,
      kDaemonSet,
      kReplicaSet,
      {"batch", "v1", "cronjobs", "CronJob"},
      {"batch", "v1", "jobs", "Job"},
      kPod,
      kResourceClaim,
      kResourceClaimTemplate,
      {"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim"},
  };
  return kKinds;
}

/// All objects of a kind.
std::expected<std::vector<Json>, client::ApiError> list_all(client::ApiClient& api, const client::Resource& resource,
                                                            const std::string& ns) {
  std::vector<Json> items;
  client::ListOptions options{.ns = ns};
  do {
    auto page = api.list(resource, options, {});
    if (!page) return std::unexpected(std::move(page.error()));
    std::ranges::move(page->items, std::back_inserter(items));
    options.continue_token = std::move(page->continue_token);
  } while (!options.continue_token.empty());
  return items;
}

}  // namespace

AuditInput read_audit_files(const std::vector<std::string>& names) {
  AuditInput input;
  for (const std::string& name : names) {
    std::error_code unknown;  // read_file tells it better
    if (name != "-" && std::filesystem::is_directory(name, unknown)) {
      add_folder(input, name);
      continue;
    }
    const auto text = read_file(name);
    if (text) {
      add_content(input, shown_name(name), *text, input.faults);
    } else {
      input.faults.push_back(text.error());
    }
  }
  return input;
}

AuditInput read_audit_cluster(client::ApiClient& api, const std::string& ns) {
  AuditInput input;
  bool any = false;
  for (const client::Resource& resource : audited_kinds()) {
    auto items = list_all(api, resource, ns);
    if (!items && items.error().is_not_found()) continue;
    if (!items) {
      Diagnostic told{.file = "", .path = "", .message = resource.full_name() + ": " + items.error().to_string()};
      (items.error().is_forbidden() ? input.notes : input.faults).push_back(std::move(told));
      continue;
    }
    any = true;
    for (Json& item : *items) {
      if (is_made_by_another(item) || has_ended(item)) continue;
      input.objects.push_back(std::make_shared<const Json>(std::move(item)));
      input.manifests.push_back(nullptr);
    }
  }
  if (!any && input.faults.empty())
    input.faults.push_back({.file = "", .path = "", .message = "no kind of workload may be listed"});
  return input;
}

}  // namespace inference::cli
