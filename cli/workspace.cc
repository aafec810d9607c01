#include "cli/workspace.h"

#include <algorithm>

#include "cli/files.h"
#include "render/cluster_facts.h"
#include "render/knowledge.h"
#include "render/values.h"

namespace inference::cli {
namespace {

void add_faults(Diagnostics& faults, const Manifest& manifest, const crd::FieldErrors& errors) {
  for (const crd::FieldError& error : errors) faults.push_back(manifest.at(error.path, error.message));
}

/// Finds an object that was there before, in this file or another: kubectl would apply both, and the last one wins.
void refuse_twin(Workspace& workspace, const Manifest& manifest) {
  const Diagnostic here = manifest.at("metadata.name", "");
  const auto [first, added] = workspace.places.emplace(manifest.title(), here);
  if (added || manifest.title() == manifest.kind) return;  // without a name it is told otherwise
  const Diagnostic& there = first->second;
  workspace.faults.push_back(manifest.at("metadata.name", manifest.title() + " is defined twice, first at " +
                                                              there.file + ":" + std::to_string(there.line)));
}

void add_profile(Workspace& workspace, const Manifest& manifest) {
  refuse_twin(workspace, manifest);
  auto profile = crd::decode_inference_profile(manifest.object, crd::Source::kFile);
  if (!profile) return add_faults(workspace.faults, manifest, profile.error());
  std::string name = profile->metadata.name;
  workspace.profiles.emplace(std::move(name), std::move(*profile));
}

void add_manifest(Workspace& workspace, const Manifest& manifest) {
  if (!manifest.is_ours()) {
    workspace.skipped.push_back(manifest);
  } else if (manifest.kind == crd::kInferenceProfileKind) {
    add_profile(workspace, manifest);
  } else if (manifest.kind == crd::kInferenceDeploymentKind) {
    refuse_twin(workspace, manifest);
    auto deployment = crd::decode_inference_deployment(manifest.object, crd::Source::kFile);
    if (!deployment) return add_faults(workspace.faults, manifest, deployment.error());
    workspace.deployments.push_back({.manifest = manifest, .deployment = std::move(*deployment)});
  } else {
    workspace.faults.push_back(manifest.at("kind", manifest.kind + " is no kind of " + std::string(crd::kGroup)));
  }
}

/// Reads one file; its faults go to the workspace.
FileContent read_content(Workspace& workspace, const std::string& name) {
  auto text = read_file(name);
  FileContent content{.file = shown_name(name), .manifests = {}, .faults = {}};
  if (text) {
    content = read_manifests(shown_name(name), *text);
  } else {
    content.faults.push_back(std::move(text.error()));
  }
  workspace.faults.insert(workspace.faults.end(), content.faults.begin(), content.faults.end());
  return content;
}

void open_profile(Workspace& workspace, const std::string& name) {
  const FileContent content = read_content(workspace, name);
  if (!content.faults.empty()) return;
  const auto is_profile = [](const Manifest& manifest) {
    return manifest.is_ours() && manifest.kind == crd::kInferenceProfileKind;
  };
  const auto count = std::ranges::count_if(content.manifests, is_profile);
  if (count != 1) {
    const std::string found = count == 0 ? "no InferenceProfile" : std::to_string(count) + " InferenceProfiles";
    workspace.faults.push_back(
        {.file = content.file, .path = "", .message = "holds " + found + ": --profile takes a file with one"});
    return;
  }
  const Manifest& manifest = *std::ranges::find_if(content.manifests, is_profile);
  const std::size_t faults = workspace.faults.size();
  add_profile(workspace, manifest);
  if (workspace.faults.size() == faults)
    workspace.given_profile = manifest.object["metadata"]["name"].get<std::string>();
}

void open_templates(Workspace& workspace, const std::string& folder) {
  auto files = read_folder(folder, {".yaml"});
  if (!files) {
    workspace.faults.push_back(std::move(files.error()));
    return;
  }
  const auto add_template_faults = [&](const std::vector<render::TemplateFault>& faults) {
    const std::string slash = folder.ends_with('/') ? "" : "/";
    for (const render::TemplateFault& fault : faults)
      workspace.faults.push_back(
          {.file = folder + slash + fault.file, .line = fault.line, .path = "", .message = fault.message});
  };
  auto templates = render::TemplateSet::load(*files, render::template_schemas());
  if (!templates) return add_template_faults(templates.error());
  if (const auto knowledge = render::Knowledge::load(*templates); !knowledge)
    return add_template_faults(knowledge.error());
  workspace.templates_folder = folder;
  workspace.own_templates = std::make_unique<const render::TemplateSet>(std::move(*templates));
}

}  // namespace

Workspace open_workspace(const WorkspaceOptions& options) {
  Workspace workspace;
  workspace.cluster = render::cluster_facts(options.cluster);
  if (!options.templates_folder.empty()) open_templates(workspace, options.templates_folder);
  if (!options.profile_file.empty()) open_profile(workspace, options.profile_file);
  for (const std::string& name : options.files) workspace.files.push_back(read_content(workspace, name));
  for (const FileContent& content : workspace.files) {
    for (const Manifest& manifest : content.manifests) add_manifest(workspace, manifest);
  }
  return workspace;
}

std::expected<const crd::InferenceProfile*, Diagnostic> find_profile(const Workspace& workspace,
                                                                     const DeploymentInput& input) {
  const auto& reference = input.deployment.spec.profile_ref;
  if (reference) {
    const auto named = workspace.profiles.find(*reference);
    if (named != workspace.profiles.end()) return &named->second;
    return std::unexpected(input.manifest.at(
        "spec.profileRef.name",
        "there is no InferenceProfile " + *reference + " in the input: give its file with --profile or -f"));
  }
  if (workspace.given_profile) return &workspace.profiles.at(*workspace.given_profile);
  const crd::InferenceProfile* chosen = nullptr;
  for (const auto& [name, profile] : workspace.profiles) {
    if (!profile.is_default) continue;
    if (chosen != nullptr) {
      return std::unexpected(input.manifest.at("spec.profileRef", "is needed: the InferenceProfiles " +
                                                                      chosen->metadata.name + " and " + name +
                                                                      " are both marked as default"));
    }
    chosen = &profile;
  }
  return chosen;
}

Diagnostic no_deployment(const Workspace& workspace) {
  std::string names;
  for (const FileContent& content : workspace.files) names += (names.empty() ? "" : ", ") + content.file;
  return {.file = names, .path = "", .message = "no InferenceDeployment found"};
}

std::expected<render::Rendered, Diagnostics> render_one(const Workspace& workspace, const DeploymentInput& input,
                                                        render::Explanations* explain) {
  const auto profile = find_profile(workspace, input);
  if (!profile) return std::unexpected(Diagnostics{profile.error()});
  auto rendered = render::render({.deployment = input.deployment,
                                  .profile = *profile,
                                  .cluster = workspace.cluster,
                                  .recorded_gang = {},
                                  .unknown_pod_fields = crd::UnknownFields::kRefuse},
                                 workspace.templates(), explain);
  if (rendered) return std::move(*rendered);
  Diagnostics faults;
  for (const crd::FieldError& error : rendered.error().errors) {
    const bool of_templates = rendered.error().reason == "InvalidTemplates";
    faults.push_back(of_templates ? Diagnostic{.file = workspace.templates_folder, .path = "", .message = error.message}
                                  : input.manifest.at(error.path, error.message));
  }
  return std::unexpected(std::move(faults));
}

}  // namespace inference::cli
