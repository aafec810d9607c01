#include "cli/manifests.h"

#include "cli/object_lines.h"

namespace inference::cli {
namespace {

/// A string field of an object, "" where it is missing or something else.
std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
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
  if (!manifest.kind.ends_with("List") || items == object.end() || !items->is_array()) {
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

Diagnostic Manifest::at(std::string field_path, std::string message) const {
  const std::size_t line = line_of(*document, base, field_path);
  return {.file = file, .line = line, .path = std::move(field_path), .message = std::move(message)};
}

FileContent read_manifests(const std::string& file, std::string_view text) {
  FileContent content{.file = file, .manifests = {}, .faults = {}};
  auto documents = read_yaml_documents(text);
  if (!documents) {
    const YamlError& error = documents.error();
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
