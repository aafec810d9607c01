#include "cli/audit_report.h"

#include <algorithm>
#include <array>
#include <set>

#include "audit/patch.h"
#include "base/json_members.h"
#include "base/utf8.h"
#include "base/wording.h"
#include "base/yaml_writer.h"

namespace inference::cli {
namespace {

using audit::Finding;
using audit::Severity;

/// Texts of the input may hold anything; nlohmann's writer refuses what is no UTF-8.
std::string dumped(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::int64_t ignored_count(const AuditResult& result) {
  std::int64_t count = 0;
  for (const AuditedObject& object : result.objects) count += std::ssize(object.verdict.ignored);
  return count;
}

std::string summary(const AuditResult& result) {
  if (result.objects.empty()) return "no workload with GPUs\n";
  std::string text = counted(result.count(Severity::kError), "error") + ", " +
                     counted(result.count(Severity::kWarn), "warning") + ", " +
                     std::to_string(result.count(Severity::kInfo)) + " info in " +
                     counted(std::ssize(result.objects), "workload") + " with GPUs";
  std::int64_t hidden = 0;
  for (const Severity severity : {Severity::kInfo, Severity::kWarn}) {
    if (severity < result.least) hidden += result.count(severity);
  }
  if (hidden > 0) text += "; " + std::to_string(hidden) + " of them not shown";
  if (const std::int64_t ignored = ignored_count(result); ignored > 0)
    text += "; " + std::to_string(ignored) + " ignored by annotation";
  return text + "\n";
}

std::string finding_text(const Finding& finding, const Manifest* manifest) {
  std::string place = escape_for_terminal(finding.path);
  if (manifest != nullptr)
    place += " (line " + std::to_string(manifest->document->line_of(manifest->base + finding.pointer)) + ")";
  return "  " + std::string(to_string(finding.severity)) + " " + finding.rule + " at " + place + "\n    " +
         escape_for_terminal(finding.message) + "\n    fix: " + escape_for_terminal(finding.fix) + "\n";
}

/// The patches of the shown findings, and the rules whose findings have none.
struct Fixes {
  Json patch = Json::array();
  std::set<std::string> left;
};

Fixes fixes_of(const AuditResult& result, const AuditedObject& object) {
  Fixes fixes;
  std::vector<Json> patches;
  for (Finding& finding : result.shown(object.verdict)) {
    if (finding.patch.empty()) {
      fixes.left.insert(finding.rule);
    } else {
      patches.push_back(std::move(finding.patch));
    }
  }
  fixes.patch = audit::combined_patch(*object.verdict.object, patches);
  return fixes;
}

Json target_of(const Json& object) {
  const std::string api_version = text_at(object, "apiVersion");
  const std::size_t slash = api_version.find('/');
  Json target = {{"kind", text_at(object, "kind")}};
  if (slash != std::string::npos) target["group"] = api_version.substr(0, slash);
  target["version"] = slash == std::string::npos ? api_version : api_version.substr(slash + 1);
  for (const char* key : {"name", "namespace"}) {
    if (const std::string text = text_at(member(object, "metadata"), key); !text.empty()) target[key] = text;
  }
  return target;
}

std::string comment(const AuditedObject& object, const Fixes& fixes) {
  const std::string left = joined(fixes.left);
  const std::string what = fixes.patch.empty() ? "nothing that a patch can fix" : "patched below";
  return "# " + escape_for_terminal(object.verdict.title) + ": " + what +
         (left.empty() ? "" : "; left for a person: " + left) + "\n";
}

}  // namespace

std::string AuditedObject::place() const {
  if (manifest == nullptr) return "cluster";
  return manifest->file + ":" + std::to_string(manifest->document->line_of(manifest->base));
}

std::int64_t AuditResult::count(Severity severity) const {
  std::int64_t count = 0;
  for (const AuditedObject& object : objects)
    count += std::ranges::count(object.verdict.findings, severity, &Finding::severity);
  return count;
}

std::vector<Finding> AuditResult::shown(const audit::Verdict& verdict) const {
  std::vector<Finding> shown;
  std::ranges::copy_if(verdict.findings, std::back_inserter(shown),
                       [this](const Finding& finding) { return finding.severity >= least; });
  return shown;
}

std::string audit_text(const AuditResult& result) {
  std::string text;
  for (const AuditedObject& object : result.objects) {
    const std::vector<Finding> findings = result.shown(object.verdict);
    if (findings.empty()) continue;
    text += escape_for_terminal(object.verdict.title + " (" + object.place() + ")") + "\n";
    for (const Finding& finding : findings) text += finding_text(finding, object.manifest.get());
    text += "\n";
  }
  return text + summary(result);
}

std::string audit_json(const AuditResult& result) {
  Json findings = Json::array();
  Json ignored = Json::array();
  for (const AuditedObject& object : result.objects) {
    for (const Finding& finding : result.shown(object.verdict))
      findings.push_back({{"rule", finding.rule},
                          {"severity", to_string(finding.severity)},
                          {"object", finding.object},
                          {"path", finding.path},
                          {"message", finding.message},
                          {"fix", finding.fix}});
    for (const audit::Ignored& entry : object.verdict.ignored)
      ignored.push_back({{"rule", entry.finding.rule},
                         {"object", entry.finding.object},
                         {"path", entry.finding.path},
                         {"reason", entry.reason}});
  }
  return dumped({{"findings", std::move(findings)}, {"ignored", std::move(ignored)}});
}

std::string audit_fixes(const AuditResult& result) {
  std::string comments;
  Json patches = Json::array();
  for (const AuditedObject& object : result.objects) {
    const Fixes fixes = fixes_of(result, object);
    if (fixes.patch.empty() && fixes.left.empty()) continue;
    comments += comment(object, fixes);
    if (!fixes.patch.empty())
      patches.push_back({{"target", target_of(*object.verdict.object)}, {"patch", write_yaml(fixes.patch)}});
  }
  if (patches.empty()) return comments;
  return comments + write_yaml({{"apiVersion", "kustomize.config.k8s.io/v1alpha1"},
                                {"kind", "Component"},
                                {"patches", std::move(patches)}});
}

std::string audit_fixes_json(const AuditResult& result) {
  Json patches = Json::array();
  for (const AuditedObject& object : result.objects) {
    const Json& json = *object.verdict.object;
    Fixes fixes = fixes_of(result, object);
    if (fixes.patch.empty()) continue;
    patches.push_back({{"apiVersion", text_at(json, "apiVersion")},
                       {"kind", text_at(json, "kind")},
                       {"namespace", text_at(member(json, "metadata"), "namespace")},
                       {"name", text_at(member(json, "metadata"), "name")},
                       {"patch", std::move(fixes.patch)}});
  }
  return dumped({{"patches", std::move(patches)}});
}

}  // namespace inference::cli
