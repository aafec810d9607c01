#include "cli/audit_sarif.h"

#include <algorithm>

#include "audit/rules.h"
#include "base/version.h"

namespace inference::cli {
namespace {

using audit::Finding;
using audit::Severity;

std::string_view level_of(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return "note";
    case Severity::kWarn:
      return "warning";
    case Severity::kError:
      break;
  }
  return "error";
}

/// A file's name as a URI reference: relative names stay relative.
std::string uri_of(const std::string& file) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  std::string uri = file.starts_with('/') ? "file://" : "";
  for (const char c : file) {
    if (kPlain.find(c) != std::string_view::npos) {
      uri += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      uri += '%';
      uri += kHex[byte >> 4U];
      uri += kHex[byte & 15U];
    }
  }
  return uri;
}

Json rule_json(const std::string& id, std::string_view title, std::string_view why, Severity severity) {
  return {{"id", id},
          {"shortDescription", {{"text", title}}},
          {"fullDescription", {{"text", why}}},
          {"help", {{"text", why}}},
          {"defaultConfiguration", {{"level", level_of(severity)}}}};
}

Json all_rules() {
  Json rules = Json::array();
  for (const audit::Rule& rule : audit::rules())
    rules.push_back(rule_json(std::string(rule.id), rule.title, rule.why, rule.severity));
  for (const char* id : {"ignore-without-reason", "ignore-unknown-rule"})
    rules.push_back(rule_json(id, "an annotation that ignores nothing",
                              "What is ignored has a reason, by which others can tell whether it still holds.",
                              Severity::kWarn));
  return rules;
}

std::size_t index_of(const Json& rules, const std::string& id) {
  const auto found = std::ranges::find_if(rules, [&](const Json& rule) { return rule["id"] == id; });
  return static_cast<std::size_t>(found - rules.begin());
}

Json location_of(const Finding& finding, const Manifest* manifest) {
  Json location = {{"logicalLocations",
                    Json::array({{{"fullyQualifiedName", finding.object + "/" + finding.path}, {"kind", "object"}}})}};
  if (manifest != nullptr) {
    const std::size_t line = manifest->document->line_of(manifest->base + finding.pointer);
    location["physicalLocation"] = {
        {"artifactLocation", {{"uri", uri_of(manifest->file == "<stdin>" ? "stdin" : manifest->file)}}},
        {"region", {{"startLine", std::max<std::size_t>(line, 1)}}}};
  }
  return location;
}

Json result_json(const Finding& finding, const Manifest* manifest, const Json& rules) {
  return {{"ruleId", finding.rule},
          {"ruleIndex", index_of(rules, finding.rule)},
          {"level", level_of(finding.severity)},
          {"message", {{"text", finding.object + ": " + finding.message + ". Fix: " + finding.fix + "."}}},
          {"locations", Json::array({location_of(finding, manifest)})}};
}

}  // namespace

std::string audit_sarif(const AuditResult& result) {
  const Json rules = all_rules();
  Json results = Json::array();
  for (const AuditedObject& object : result.objects) {
    for (const Finding& finding : result.shown(object.verdict))
      results.push_back(result_json(finding, object.manifest.get(), rules));
    for (const audit::Ignored& ignored : object.verdict.ignored) {
      Json suppressed = result_json(ignored.finding, object.manifest.get(), rules);
      suppressed["suppressions"] = Json::array({{{"kind", "inSource"}, {"justification", ignored.reason}}});
      results.push_back(std::move(suppressed));
    }
  }
  const Json driver = {{"name", "kubectl-inference audit"}, {"version", version()}, {"rules", rules}};
  const Json sarif = {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                      {"version", "2.1.0"},
                      {"runs", Json::array({{{"tool", {{"driver", driver}}}, {"results", std::move(results)}}})}};
  return sarif.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace inference::cli
