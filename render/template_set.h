#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "render/holes.h"
#include "render/template_tree.h"

namespace inference::render {

/// All templates and engine data files, parsed and checked once, then immutable: share it between threads freely.
/// Movable, not copyable, because includes point from one file's tree into another's.
class TemplateSet {
 public:
  /// The files of templates/ at build time, parsed at the first call.
  [[nodiscard]] static const TemplateSet& embedded();

  /// Parses and lints `files` (name relative to templates/ → text). Every fault of every file is returned at once, in
  /// the order of file and line. With `schemas` the holes that templates name are compared with those that the C++
  /// structs offer, too.
  [[nodiscard]] static std::expected<TemplateSet, std::vector<TemplateFault>> load(
      const std::map<std::string, std::string>& files, std::span<const TemplateSchema> schemas = {});

  TemplateSet(TemplateSet&&) = default;
  TemplateSet& operator=(TemplateSet&&) = default;
  TemplateSet(const TemplateSet&) = delete;
  TemplateSet& operator=(const TemplateSet&) = delete;

  /// The file of that name ("engines/vllm.yaml"), null when there is none. Lives as long as the set.
  [[nodiscard]] const Template* find(std::string_view file) const;

  /// The names of all files, sorted.
  [[nodiscard]] std::vector<std::string_view> files() const;

  /// "sha256:…" over all files; equal to `cd templates && find * -name '*.yaml' | LC_ALL=C sort | xargs sha256sum |
  /// sha256sum`.
  [[nodiscard]] std::string_view digest() const { return digest_; }

 private:
  TemplateSet() = default;
  std::map<std::string, Template, std::less<>>
      templates_;  // node-based: a move leaves the trees, hence the include pointers, in place
  std::string digest_;
};

/// The files of templates/ as they were at build time: name → text.
[[nodiscard]] const std::map<std::string, std::string>& embedded_template_files();

}  // namespace inference::render
