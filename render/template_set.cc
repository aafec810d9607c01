#include "render/template_set.h"

#include <algorithm>
#include <stdexcept>
#include <tuple>

#include "render/sha256.h"
#include "render/template_lint.h"
#include "render/template_loader.h"

namespace inference::render {

namespace {

/// One line a file, as sha256sum prints it, so that anybody can check the digest with coreutils.
std::string digest_of(const std::map<std::string, std::string>& files) {
  std::string sums;
  for (const auto& [name, text] : files) sums += sha256_hex(text) + "  " + name + "\n";
  return "sha256:" + sha256_hex(sums);
}

void sort_and_unify(std::vector<TemplateFault>& faults) {
  std::ranges::stable_sort(faults, {}, [](const TemplateFault& fault) { return std::tie(fault.file, fault.line); });
  // A file that several others include is compared with several structs.
  const auto repeated = std::ranges::unique(faults);
  faults.erase(repeated.begin(), repeated.end());
}

}  // namespace

const TemplateSet& TemplateSet::embedded() {
  static const TemplateSet set = [] {
    auto loaded = load(embedded_template_files());
    if (loaded) return *std::move(loaded);
    // A test loads the same files, so this build was never tested.
    throw std::logic_error("embedded template is faulty: " + to_string(loaded.error().front()));
  }();
  return set;
}

std::expected<TemplateSet, std::vector<TemplateFault>> TemplateSet::load(
    const std::map<std::string, std::string>& files, std::span<const TemplateSchema> schemas) {
  TemplateSet set;
  std::vector<TemplateFault> faults;
  bool all_parsed = true;
  for (const auto& [name, text] : files) {
    auto file = parse_template(name, text, faults);
    if (!file) {
      // An empty tree stands in for it, so that those who include it are not told that it does not exist.
      all_parsed = false;
      file.emplace().file = name;
      file->root.kind = TemplateNode::Kind::kMapping;
    }
    set.templates_.emplace(name, *std::move(file));
  }
  link_templates(set.templates_, faults);
  for (const auto& [name, file] : set.templates_) lint_template(file, faults);
  if (all_parsed && !schemas.empty()) lint_schemas(set.templates_, schemas, faults);
  if (!faults.empty()) {
    sort_and_unify(faults);
    return std::unexpected(std::move(faults));
  }
  set.digest_ = digest_of(files);
  return set;
}

const Template* TemplateSet::find(std::string_view file) const {
  const auto found = templates_.find(file);
  return found == templates_.end() ? nullptr : &found->second;
}

std::vector<std::string_view> TemplateSet::files() const {
  std::vector<std::string_view> names;
  for (const auto& [name, file] : templates_) names.emplace_back(name);
  return names;
}

}  // namespace inference::render
