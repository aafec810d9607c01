#include "cli/validate_command.h"

#include <algorithm>

#include "base/utf8.h"
#include "base/wording.h"

namespace inference::cli {
namespace {

/// Ours only: what was skipped was not checked.
std::size_t checked_objects(const FileContent& content) {
  return static_cast<std::size_t>(std::ranges::count_if(content.manifests, &Manifest::is_ours));
}

bool has_fault(const Diagnostics& faults, const FileContent& content) {
  return std::ranges::find(faults, content.file, &Diagnostic::file) != faults.end();
}

/// A null means a deletion, which only server-side apply brings to the API server.
void find_nulls(const Manifest& manifest, const Json& value, const std::string& path, Diagnostics& notes) {
  if (value.is_null()) {
    notes.push_back(manifest.at(
        path, "kubectl apply without --server-side drops null, and nothing is deleted: write {$patch: delete}"));
  } else if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i)
      find_nulls(manifest, value[i], path + "[" + std::to_string(i) + "]", notes);
  } else if (value.is_object()) {
    for (const auto& [key, child] : value.items()) find_nulls(manifest, child, path + "." + key, notes);
  }
}

void find_nulls_of_pods(const Manifest& manifest, Diagnostics& notes) {
  for (const auto& [pointer, path] : {std::pair{"/spec/podTemplate/spec", "spec.podTemplate.spec"},
                                      std::pair{"/spec/defaults/podTemplate/spec", "spec.defaults.podTemplate.spec"}}) {
    const Json::json_pointer place(pointer);
    if (manifest.is_ours() && manifest.object.contains(place) && !manifest.object[place].is_null())
      find_nulls(manifest, manifest.object[place], path, notes);
  }
}

}  // namespace

Outcome run_validate(const WorkspaceOptions& options) {
  const Workspace workspace = open_workspace(options);
  Diagnostics faults = workspace.faults;
  Diagnostics notes;
  Diagnostics notices;
  for (const Manifest& manifest : workspace.skipped)
    notes.push_back(manifest.at("", "skipped " + manifest.title() + ": not a kind of " + crd::kGroup));
  for (const FileContent& content : workspace.files) {
    for (const Manifest& manifest : content.manifests) find_nulls_of_pods(manifest, notes);
  }
  for (const DeploymentInput& input : workspace.deployments) {
    const auto& reference = input.deployment.spec.profile_ref;
    if (reference && !workspace.profiles.contains(*reference)) {
      notes.push_back(input.manifest.at("spec.profileRef.name",
                                        "InferenceProfile " + *reference + " is not in the files: checked without it"));
      continue;
    }
    const auto rendered = render_one(workspace, input, nullptr);
    if (!rendered) {
      faults.insert(faults.end(), rendered.error().begin(), rendered.error().end());
      continue;
    }
    for (const render::Notice& notice : rendered->notices)
      notices.push_back(input.manifest.at(notice.path, notice.message));
  }
  Outcome outcome;
  for (const Diagnostic& fault : faults) outcome.out += to_string(fault) + "\n";
  bool all_ok = faults.empty();
  for (const FileContent& content : workspace.files) {
    const std::size_t checked = checked_objects(content);
    if (has_fault(faults, content)) continue;
    all_ok = all_ok && checked > 0;
    outcome.out += escape_for_terminal(content.file) +
                   (checked > 0 ? ": ok (" + counted(static_cast<std::int64_t>(checked), "object") + ")\n"
                                : ": nothing to validate: no object of " + std::string(crd::kGroup) + " is in it\n");
  }
  outcome.err = to_lines(notes, "note") + to_lines(notices, "notice");
  outcome.code = all_ok ? ExitCode::kOk : ExitCode::kFinding;
  return outcome;
}

}  // namespace inference::cli
