#pragma once

#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/yaml_reader.h"
#include "cli/diagnostic.h"

namespace inference::cli {

/// One Kubernetes object of the input and where it stands.
struct Manifest {
  std::string file;  // as the user named it
  std::shared_ptr<const JsonDocument> document;
  std::string base;  // JSON pointer of the object in its document; not empty in a List
  Json object;
  std::string api_version;
  std::string kind;

  /// "InferenceDeployment llama-70b", "Service web/front".
  [[nodiscard]] std::string title() const;
  /// Whether it is of our API group; where the apiVersion is missing or has no group, by its kind: the decoder then
  /// says what the apiVersion should be.
  [[nodiscard]] bool is_ours() const;
  /// A diagnostic at a field of this object, `field_path` as in crd::FieldError; "" is the object.
  [[nodiscard]] Diagnostic at(std::string field_path, std::string message) const;
};

/// Everything that a file holds, Lists taken apart. All faults of the file at once.
struct FileContent {
  std::string file;
  std::vector<Manifest> manifests;
  Diagnostics faults;   // not YAML, no object, no kind, a List without items
  bool is_yaml = true;  // false: the only fault is that the file cannot be parsed, and there are no manifests
};

/// `text` is the file's content.
[[nodiscard]] FileContent read_manifests(const std::string& file, std::string_view text);

}  // namespace inference::cli
