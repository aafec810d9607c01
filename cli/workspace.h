#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/manifests.h"
#include "crd/decode.h"
#include "render/explanations.h"
#include "render/render.h"
#include "render/template_set.h"

namespace inference::cli {

/// What the commands that render have in common, as the command line gives it.
struct WorkspaceOptions {
  std::vector<std::string> files;    // `-` is standard input; never empty
  std::string profile_file;          // empty: none
  std::string templates_folder;      // empty: the embedded templates
  std::vector<std::string> cluster;  // what --cluster names; empty: nothing is known of the cluster
};

/// A decoded InferenceDeployment and where it stands.
struct DeploymentInput {
  Manifest manifest;
  crd::InferenceDeployment deployment;
};

/// All input of one run, read and decoded, with everything that is wrong in it.
struct Workspace {
  std::vector<FileContent> files;  // in the order of the command line
  std::vector<DeploymentInput> deployments;
  std::map<std::string, crd::InferenceProfile> profiles;  // of all files, by name
  std::optional<std::string> given_profile;               // the name of the one in --profile
  std::vector<Manifest> skipped;                          // kinds that are not ours
  std::map<std::string, Diagnostic> places;               // where each object of ours stands first, by its title
  std::unique_ptr<const render::TemplateSet> own_templates;
  std::string templates_folder;  // of own_templates
  render::ClusterFacts cluster;
  Diagnostics faults;

  [[nodiscard]] const render::TemplateSet& templates() const {
    return own_templates ? *own_templates : render::TemplateSet::embedded();
  }
};

/// Reads and decodes everything; faults are collected, not thrown: what is sound stays usable.
[[nodiscard]] Workspace open_workspace(const WorkspaceOptions& options);

/// The profile that applies to the deployment: the one it names, else --profile's, else the only one of the files that
/// is marked as default. Null when none applies. A profile that is named and not there, and several defaults, are a
/// fault.
[[nodiscard]] std::expected<const crd::InferenceProfile*, Diagnostic> find_profile(const Workspace& workspace,
                                                                                   const DeploymentInput& input);

/// What to say when the files hold no InferenceDeployment.
[[nodiscard]] Diagnostic no_deployment(const Workspace& workspace);

/// Renders one deployment; a refusal becomes one diagnostic for each field. `explain` may be null.
[[nodiscard]] std::expected<render::Rendered, Diagnostics> render_one(const Workspace& workspace,
                                                                      const DeploymentInput& input,
                                                                      render::Explanations* explain);

}  // namespace inference::cli
