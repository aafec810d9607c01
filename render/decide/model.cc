#include "render/decide/model.h"

#include <string_view>
#include <utility>

namespace inference::render {

namespace {

constexpr std::string_view kFile = "file://";
constexpr std::string_view kClaim = "pvc://";

Reason reason_of(const Setting<std::string>& uri, std::string text) {
  return {.rule = "model_source", .text = std::move(text), .inputs = {uri.path}, .source = {}};
}

/// The folder's parent is mounted, not the folder: the engine's path keeps the model's name, and sees a model that is
/// replaced by a rename.
ModelSource from_folder(const Setting<std::string>& uri, Findings& findings) {
  std::string_view folder = std::string_view(uri.value).substr(kFile.size());
  while (folder.size() > 1 && folder.ends_with('/')) folder.remove_suffix(1);
  const std::size_t slash = folder.rfind('/');
  if (!folder.starts_with('/') || slash == 0) {
    findings.refuse("InvalidSpec", uri.path,
                    "must name a folder below another one, e.g. file:///var/cache/models/llama: the parent is mounted");
    return {};
  }
  const std::string parent(folder.substr(0, slash));
  const std::string name(folder.substr(slash + 1));
  return {
      .path = {.value = "/models/" + name,
               .reason = reason_of(uri, "the folder " + name + " in the mounted " + parent)},
      .host_path =
          HoleValue{
              .value = {{"path", parent}, {"type", "Directory"}},
              .reason = reason_of(uri, "a folder of the node"),
              .parts = {{"/path", reason_of(uri, "the parent of the model's folder")},
                        {"/type",
                         reason_of(
                             uri,
                             "must be there already: a node without it must not start an engine on an empty folder")}}},
      .claim = std::nullopt,
  };
}

ModelSource from_claim(const Setting<std::string>& uri, Findings& findings) {
  const std::string_view rest = std::string_view(uri.value).substr(kClaim.size());
  const std::size_t slash = rest.find('/');
  const std::string claim(rest.substr(0, slash));
  std::string_view path = slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
  while (path.ends_with('/')) path.remove_suffix(1);
  if (claim.empty() || path.empty()) {
    findings.refuse("InvalidSpec", uri.path, "must be pvc://CLAIM/PATH");
    return {};
  }
  return {
      .path = {.value = "/models/" + std::string(path), .reason = reason_of(uri, "the path in the mounted claim")},
      .host_path = std::nullopt,
      .claim = HoleValue{.value = {{"claimName", claim}, {"readOnly", true}},
                         .reason = reason_of(uri, "the claim that holds the weights"),
                         .parts = {{"/readOnly", reason_of(uri, "many pods read it and none may change it")}}},
  };
}

}  // namespace

ModelSource decide_model(const Settings& settings, Findings& findings) {
  if (!settings.model_uri) {
    findings.refuse("InvalidSpec", "spec.model.uri", "is required");
    return {};
  }
  const Setting<std::string>& uri = *settings.model_uri;
  const std::string_view text = uri.value;
  if (settings.model_revision) {
    findings.notice(
        "RevisionNotUsed", settings.model_revision->path,
        "the folder or claim holds whatever was put there; a revision is only fetched once there is a node cache");
  }
  if (text.starts_with(kFile)) return from_folder(uri, findings);
  if (text.starts_with(kClaim)) return from_claim(uri, findings);
  findings.refuse("NotSupported", uri.path,
                  std::string(text.substr(0, text.find(':'))) +
                      ":// needs the node cache, which is not there yet; put the model on the nodes and use "
                      "file:///FOLDER/MODEL, or into a claim "
                      "and use pvc://CLAIM/PATH");
  return {};
}

}  // namespace inference::render
