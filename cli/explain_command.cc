#include "cli/explain_command.h"

#include <algorithm>

#include "base/suggestions.h"

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
        path = render::path_above(path);
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

/// `spec.ports[*].port` for `spec.ports[7].port`.
std::string with_any_index(const std::string& path) {
  std::string starred;
  for (std::size_t i = 0; i < path.size(); ++i) {
    starred += path[i];
    const std::size_t end = path.find_first_not_of("0123456789", i + 1);
    if (path[i] != '[' || end == i + 1 || end == std::string::npos || path[end] != ']') continue;
    starred += '*';
    i = end - 1;
  }
  return starred;
}

/// The places that a path names apart from its indexes: what was meant where a list has no such item.
void find_other_items(const render::Explanations& explanations, const std::string& path,
                      std::vector<std::string>& found) {
  const std::string any = with_any_index(path);
  if (any == path || any.starts_with("[*]")) return;  // an object is no list
  for (const render::ExplainedObject& object : explanations.objects()) {
    for (const render::Explanation& leaf : object.leaves) {
      if (!render::is_under(leaf, any)) continue;
      std::string place = leaf.path;
      std::string pointer = leaf.pointer;
      while (true) {
        const std::string above = render::path_above(place);
        pointer.resize(pointer.rfind('/'));
        if (!render::path_is_under(above, pointer, any)) break;
        place = above;
      }
      if (std::ranges::find(found, place) == found.end()) found.push_back(std::move(place));
    }
  }
}

Outcome unknown_path(const std::string& path, const std::vector<std::string>& known,
                     const std::vector<std::string>& other_items) {
  constexpr std::size_t kMostNames = 3;
  std::string message = "nothing is rendered at " + path;
  std::string names;
  std::vector<std::string> near = other_items.empty() ? nearest(with_any_index(path), known, kMostNames) : other_items;
  near.resize(std::min(near.size(), kMostNames));
  for (const std::string& name : near) names += (names.empty() ? "" : ", ") + name;
  if (!names.empty()) message += "; the nearest: " + names;
  return {.code = ExitCode::kFinding,
          .out = "",
          .err = to_lines({{.file = "", .line = 0, .path = "--path", .message = message}}, "error")};
}

}  // namespace

std::optional<render::PathFault> path_option_fault(const std::string& path) {
  // As select() splits it. A name of an object has no brackets.
  const std::size_t slash = path.find('/');
  std::size_t begin = 0;
  if (is_kind(path.substr(0, slash))) {
    if (slash == std::string::npos) return std::nullopt;
    const std::size_t next = path.find_first_of("/[", slash + 1);
    begin = next != std::string::npos && path[next] == '/' ? next + 1 : slash + 1;
  }
  auto fault = render::path_fault(std::string_view(path).substr(begin));
  if (fault) fault->position += begin;
  return fault;
}

Outcome run_explain(const WorkspaceOptions& options, const std::string& path, OutputFormat format) {
  const Workspace workspace = open_workspace(options);
  Diagnostics faults = workspace.faults;
  std::string text;
  Json json = Json::array();
  std::vector<std::string> known;
  std::vector<std::string> other_items;
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
      find_other_items(chosen, selection.path, other_items);
      continue;
    }
    found = true;
    text += render::to_text(chosen, selection.path);
    for (Json& object : render::to_json(chosen, selection.path)) json.push_back(std::move(object));
  }
  if (faults.empty() && workspace.deployments.empty()) faults.push_back(no_deployment(workspace));
  if (!faults.empty()) return {.code = ExitCode::kFinding, .out = "", .err = to_lines(faults, "error")};
  if (!found) return unknown_path(path, known, other_items);
  return {.code = ExitCode::kOk, .out = format == OutputFormat::kJson ? json.dump(2) + "\n" : text, .err = ""};
}

}  // namespace inference::cli
