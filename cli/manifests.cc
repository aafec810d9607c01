#include "cli/manifests.h"

#include "cli/object_lines.h"
#include "crd/inference_deployment.h"

namespace inference::cli {
namespace {

/// A string field of an object, "" where it is missing or something else.
std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

/// Others may call a kind of theirs as they like (`AllowList`).
bool is_certainly_list(const Manifest& manifest) {
  return manifest.kind == "List" || (manifest.is_ours() && manifest.kind.ends_with("List"));
}

void add_manifest(FileContent& content, const std::shared_ptr<const JsonDocument>& document, std::string base,
                  const Json& object) {
  const auto fault = [&](std::string message) {
    content.faults.push_back(
        {.file = content.file, .line = document->line_of(base), .path = "", .message = std::move(message)});
  };
  if (!object.is_object()) return fault("is no Kubernetes object: a mapping with apiVersion and kind is expected");
  Manifest manifest{.file = content.file,
                    .document = document,
                    .base = std::move(base),
                    .object = object,
                    .api_version = text_at(object, "apiVersion"),
                    .kind = text_at(object, "kind")};
  if (manifest.kind.empty()) return fault("is no Kubernetes object: kind is missing");
  const auto items = object.find("items");
  const bool has_items = items != object.end() && items->is_array();
  if (!has_items && is_certainly_list(manifest)) {
    Diagnostic wrong = manifest.at(
        "items", items == object.end() ? "is missing: a List has a list of objects" : "must be a list of objects");
    content.faults.push_back(std::move(wrong));
    return;
  }
  if (!manifest.kind.ends_with("List") || !has_items) {
    content.manifests.push_back(std::move(manifest));
    return;
  }
  // A List of Lists does not exist in Kubernetes, and depth is bounded by the reader.
  for (std::size_t i = 0; i < items->size(); ++i)
    add_manifest(content, document, manifest.base + "/items/" + std::to_string(i), (*items)[i]);
}

}  // namespace

std::string Manifest::title() const {
  const auto metadata = object.find("metadata");
  if (metadata == object.end() || !metadata->is_object()) return kind;
  const std::string name = text_at(*metadata, "name");
  const std::string ns = text_at(*metadata, "namespace");
  return kind + (name.empty() ? "" : " " + (ns.empty() ? name : ns + "/" + name));
}

bool Manifest::is_ours() const {
  const bool of_ours = kind == crd::kInferenceDeploymentKind || kind == crd::kInferenceProfileKind;
  return api_version.starts_with(std::string(crd::kGroup) + "/") ||
         (of_ours && api_version.find('/') == std::string::npos);
}

Diagnostic Manifest::at(std::string field_path, std::string message) const {
  const std::size_t line = line_of(*document, base, field_path);
  return {.file = file, .line = line, .path = std::move(field_path), .message = std::move(message)};
}

FileContent read_manifests(const std::string& file, std::string_view text) {
  FileContent content{.file = file, .manifests = {}, .faults = {}};
  auto documents = read_yaml_documents(text);
  if (!documents) {
    const YamlError& error = documents.error();
    content.is_yaml = false;
    content.faults.push_back({.file = file, .line = error.line, .path = "", .message = error.message});
    return content;
  }
  for (JsonDocument& document : *documents) {
    const auto shared = std::make_shared<const JsonDocument>(std::move(document));
    add_manifest(content, shared, "", shared->value);
  }
  return content;
}

}  // namespace inference::cli
