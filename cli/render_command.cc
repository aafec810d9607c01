#include "cli/render_command.h"

#include "base/yaml_writer.h"

namespace inference::cli {
namespace {

std::string to_output(const std::vector<Json>& objects, OutputFormat format) {
  if (format == OutputFormat::kJson)
    return Json{{"apiVersion", "v1"}, {"kind", "List"}, {"items", objects}}.dump(2) + "\n";
  std::string out;
  for (const Json& object : objects) {
    if (!out.empty()) out += "---\n";
    out += write_yaml(object);
  }
  return out;
}

}  // namespace

Outcome run_render(const WorkspaceOptions& options, OutputFormat format) {
  const Workspace workspace = open_workspace(options);
  Diagnostics faults = workspace.faults;
  Diagnostics notices;
  std::vector<Json> objects;
  for (const DeploymentInput& input : workspace.deployments) {
    auto rendered = render_one(workspace, input, nullptr);
    if (!rendered) {
      faults.insert(faults.end(), rendered.error().begin(), rendered.error().end());
      continue;
    }
    for (const render::Notice& notice : rendered->notices)
      notices.push_back(input.manifest.at(notice.path, notice.message));
    std::ranges::move(rendered->objects, std::back_inserter(objects));
  }
  if (faults.empty() && workspace.deployments.empty()) faults.push_back(no_deployment(workspace));
  if (!faults.empty()) return {.code = ExitCode::kFinding, .out = "", .err = to_lines(faults, "error")};
  return {.code = ExitCode::kOk, .out = to_output(objects, format), .err = to_lines(notices, "notice")};
}

}  // namespace inference::cli
