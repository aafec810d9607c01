#include "cli/audit_command.h"

#include <algorithm>
#include <utility>

#include "cli/audit_input.h"
#include "cli/audit_report.h"
#include "cli/audit_sarif.h"

namespace inference::cli {
namespace {

audit::Severity severity_of(const std::string& name) {
  return name == "error" ? audit::Severity::kError : name == "warn" ? audit::Severity::kWarn : audit::Severity::kInfo;
}

AuditInput read_input(const AuditOptions& options) {
  if (!options.live) return read_audit_files(options.files);
  const auto cluster = Cluster::open(options.cluster);
  if (cluster) return read_audit_cluster((*cluster)->api(), options.all_namespaces ? "" : (*cluster)->ns());
  AuditInput input;
  input.faults.push_back({.file = "", .path = "", .message = cluster.error()});
  return input;
}

std::string report(const AuditResult& result, const AuditOptions& options, AuditFormat format) {
  if (options.fix) return format == AuditFormat::kJson ? audit_fixes_json(result) : audit_fixes(result);
  switch (format) {
    case AuditFormat::kText:
      return audit_text(result);
    case AuditFormat::kJson:
      return audit_json(result);
    case AuditFormat::kSarif:
      break;
  }
  return audit_sarif(result);
}

}  // namespace

Outcome run_audit(const AuditOptions& options, AuditFormat format) {
  const AuditInput input = read_input(options);
  AuditResult result{.objects = {}, .least = severity_of(options.severity)};
  for (audit::Verdict& verdict : audit::audit(input.objects)) {
    const auto at = std::ranges::find(input.objects, verdict.object) - input.objects.begin();
    auto manifest = input.manifests[static_cast<std::size_t>(at)];
    result.objects.push_back({.verdict = std::move(verdict), .manifest = std::move(manifest)});
  }
  std::ranges::stable_sort(result.objects, {}, [](const AuditedObject& object) { return object.verdict.title; });
  Outcome outcome;
  for (const Diagnostic& note : input.notes) outcome.err += "note: " + to_string(note) + "\n";
  outcome.err += to_lines(input.faults, "error");
  if (input.faults.empty() || !result.objects.empty()) outcome.out = report(result, options, format);
  const bool errors = result.count(audit::Severity::kError) > 0;
  outcome.code = errors || !input.faults.empty() ? ExitCode::kFinding : ExitCode::kOk;
  return outcome;
}

}  // namespace inference::cli
