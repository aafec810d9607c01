#include "cli/explain_command.h"

#include <algorithm>

#include "cli/suggestions.h"

namespace inference::cli {
namespace {

/// What --path selects.
struct Selection {
  std::string kind;  // empty: any
  std::string name;  // empty: any
  std::string path;  // in the object; empty: all of it
};

bool is_kind(std::string_view text) {
  return !text.empty() && text.front() >= 'A' && text.front() <= 'Z' && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  });
}

bool is_named(const Json& object, const std::string& kind, std::string_view name) {
  return object["kind"] == kind && object["metadata"]["name"] == name;
}

/// Splits `Kind/name/path`. A second part is a name only where an object of the kind has it: `Deployment/spec` is a
/// path.
Selection select(const std::string& text, const std::vector<Json>& objects) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  const std::string kind = text.substr(0, slash);
  if (!is_kind(kind)) return {.kind = "", .name = "", .path = text};
  const std::string rest = slash == text.size() ? "" : text.substr(slash + 1);
  const std::size_t next = std::min(rest.find('/'), rest.size());
  const std::string name = rest.substr(0, next);
  const bool named = std::ranges::any_of(objects, [&](const Json& object) { return is_named(object, kind, name); });
  if (!named) return {.kind = kind, .name = "", .path = rest};
  return {.kind = kind, .name = name, .path = next == rest.size() ? "" : rest.substr(next + 1)};
}

/// The explanations of the selected objects. The recorder lists the objects in the order in which they were rendered.
render::Explanations filter(const render::Explanations& all, const std::vector<Json>& objects,
                            const Selection& selection) {
  render::Explanations chosen;
  for (const render::ExplainedObject& explained : all.objects()) {
    const auto is_this = [&explained](const Json& object) {
      const std::string kind = object["kind"].get<std::string>();
      const std::string name = object["metadata"]["name"].get<std::string>();
      return explained.title.starts_with(kind + " ") &&
             (explained.title.ends_with(" " + name) || explained.title.ends_with("/" + name));
    };
    const auto object = std::ranges::find_if(objects, is_this);
    if (object == objects.end()) continue;
    const bool kind = selection.kind.empty() || (*object)["kind"] == selection.kind;
    const bool name = selection.name.empty() || (*object)["metadata"]["name"] == selection.name;
    if (kind && name) chosen.add(*object, explained.leaves);
  }
  return chosen;
}

/// Every path that a user could have meant: of the leaves and of all that is above them, with the kind before it.
std::vector<std::string> known_paths(const render::Explanations& explanations) {
  std::vector<std::string> paths;
  for (const render::ExplainedObject& object : explanations.objects()) {
    const std::string kind = object.title.substr(0, object.title.find(' '));
    paths.push_back(kind);
    for (const render::Explanation& leaf : object.leaves) {
      for (std::string path = leaf.path; !path.empty();) {
        paths.push_back(path);
        paths.push_back(kind + "/" + path);
        const std::size_t cut = path.find_last_of(".[");
        path.resize(cut == std::string::npos ? 0 : cut);
      }
    }
  }
  return paths;
}

bool has_leaf(const render::Explanations& explanations, const std::string& path) {
  return std::ranges::any_of(explanations.objects(), [&path](const render::ExplainedObject& object) {
    return std::ranges::any_of(object.leaves,
                               [&path](const render::Explanation& leaf) { return render::is_under(leaf, path); });
  });
}

Outcome unknown_path(const std::string& path, const std::vector<std::string>& known) {
  std::string message = "nothing is rendered at " + path;
  std::string names;
  for (const std::string& name : nearest(path, known, 3)) names += (names.empty() ? "" : ", ") + name;
  if (!names.empty()) message += "; the nearest: " + names;
  return {.code = ExitCode::kFinding,
          .out = "",
          .err = to_lines({{.file = "", .line = 0, .path = "--path", .message = message}}, "error")};
}

}  // namespace

Outcome run_explain(const WorkspaceOptions& options, const std::string& path, OutputFormat format) {
  const Workspace workspace = open_workspace(options);
  Diagnostics faults = workspace.faults;
  std::string text;
  Json json = Json::array();
  std::vector<std::string> known;
  bool found = false;
  for (const DeploymentInput& input : workspace.deployments) {
    render::Explanations all;
    const auto rendered = render_one(workspace, input, &all);
    if (!rendered) {
      faults.insert(faults.end(), rendered.error().begin(), rendered.error().end());
      continue;
    }
    const Selection selection = select(path, rendered->objects);
    const render::Explanations chosen = filter(all, rendered->objects, selection);
    if (!has_leaf(chosen, selection.path)) {
      std::ranges::move(known_paths(all), std::back_inserter(known));
      continue;
    }
    found = true;
    text += render::to_text(chosen, selection.path);
    for (Json& object : render::to_json(chosen, selection.path)) json.push_back(std::move(object));
  }
  if (faults.empty() && workspace.deployments.empty()) faults.push_back(no_deployment(workspace));
  if (!faults.empty()) return {.code = ExitCode::kFinding, .out = "", .err = to_lines(faults, "error")};
  if (!found) return unknown_path(path, known);
  return {.code = ExitCode::kOk, .out = format == OutputFormat::kJson ? json.dump(2) + "\n" : text, .err = ""};
}

}  // namespace inference::cli
