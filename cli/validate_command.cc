#include "cli/validate_command.h"

#include <algorithm>

#include "base/utf8.h"

namespace inference::cli {
namespace {

/// Ours only: what was skipped was not checked.
std::size_t checked_objects(const Workspace& workspace, const FileContent& content) {
  const auto skipped = std::ranges::count(workspace.skipped, content.file, &Manifest::file);
  return content.manifests.size() - static_cast<std::size_t>(skipped);
}

std::string counted(std::size_t objects) {
  return std::to_string(objects) + (objects == 1 ? " object" : " objects");
}

}  // namespace

Outcome run_validate(const WorkspaceOptions& options) {
  const Workspace workspace = open_workspace(options);
  Diagnostics faults = workspace.faults;
  Diagnostics notes;
  for (const Manifest& manifest : workspace.skipped)
    notes.push_back(manifest.at("", "skipped " + manifest.title() + ": not a kind of " + crd::kGroup));
  for (const DeploymentInput& input : workspace.deployments) {
    const auto& reference = input.deployment.spec.profile_ref;
    if (reference && !workspace.profiles.contains(*reference)) {
      notes.push_back(input.manifest.at("spec.profileRef.name",
                                        "InferenceProfile " + *reference + " is not in the files: checked without it"));
      continue;
    }
    const auto rendered = render_one(workspace, input, nullptr);
    if (!rendered) faults.insert(faults.end(), rendered.error().begin(), rendered.error().end());
  }
  Outcome outcome;
  for (const Diagnostic& fault : faults) outcome.out += to_string(fault) + "\n";
  for (const FileContent& content : workspace.files) {
    if (std::ranges::find(faults, content.file, &Diagnostic::file) != faults.end()) continue;
    outcome.out += escape_for_terminal(content.file) + ": ok (" + counted(checked_objects(workspace, content)) + ")\n";
  }
  for (const Diagnostic& note : notes) outcome.err += "note: " + to_string(note) + "\n";
  outcome.code = faults.empty() ? ExitCode::kOk : ExitCode::kFinding;
  return outcome;
}

}  // namespace inference::cli
