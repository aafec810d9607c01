#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "audit/audit.h"
#include "cli/manifests.h"

namespace inference::cli {

/// What an audit found in one workload, and where the workload stands.
struct AuditedObject {
  audit::Verdict verdict;
  std::shared_ptr<const Manifest> manifest;  // null for what was read from a cluster

  /// "deploy.yaml:12", "cluster" for what was read from one.
  [[nodiscard]] std::string place() const;
};

/// All of them, by title, and what of it is shown: findings at least as severe as `least`.
struct AuditResult {
  std::vector<AuditedObject> objects;
  audit::Severity least = audit::Severity::kInfo;

  /// Of all findings, shown or not.
  [[nodiscard]] std::int64_t count(audit::Severity severity) const;
  [[nodiscard]] std::vector<audit::Finding> shown(const audit::Verdict& verdict) const;
};

/// By object, most severe first, with counts at the end.
[[nodiscard]] std::string audit_text(const AuditResult& result);

/// {"findings": [{rule, severity, object, path, message, fix}], "ignored": [{rule, object, path, reason}]}.
[[nodiscard]] std::string audit_json(const AuditResult& result);

/// A kustomize Component with one JSON patch an object, and comments that tell what is left for a person.
[[nodiscard]] std::string audit_fixes(const AuditResult& result);

/// {"patches": [{apiVersion, kind, namespace, name, patch}]}: each patch is a JSON patch (RFC 6902) for kubectl.
[[nodiscard]] std::string audit_fixes_json(const AuditResult& result);

}  // namespace inference::cli
