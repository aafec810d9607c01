#include "audit/audit.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "audit/ignore.h"
#include "audit/rules.h"
#include "render/object_path.h"

namespace inference::audit {
namespace {

void add_finding(Verdict& verdict, const Ignores& ignores, Finding finding) {
  finding.object = verdict.title;
  finding.path = render::object_path(*verdict.object, finding.pointer);
  if (const Ignore* ignore = ignores.find(finding)) {
    verdict.ignored.push_back({.finding = std::move(finding), .reason = ignore->reason});
  } else {
    verdict.findings.push_back(std::move(finding));
  }
}

std::optional<Verdict> judge(const Object& object, const Surroundings& around, const render::Knowledge& knowledge) {
  const auto workload = read_workload(object);
  if (!workload) return std::nullopt;
  const Subject subject = make_subject(*workload, around, knowledge);
  if (subject.pods.empty()) return std::nullopt;
  Verdict verdict{.object = object, .title = workload->title(), .findings = {}, .ignored = {}};
  Ignores ignores = read_ignores(*workload);
  for (const Rule& rule : rules()) {
    for (Found& found : rule.check(subject)) {
      add_finding(verdict, ignores,
                  {.rule = std::string(rule.id),
                   .severity = found.severity.value_or(rule.severity),
                   .object = {},
                   .path = {},
                   .pointer = std::move(found.pointer),
                   .message = std::move(found.message),
                   .fix = std::move(found.fix),
                   .patch = std::move(found.patch)});
    }
  }
  for (Finding& finding : ignores.findings) add_finding(verdict, {}, std::move(finding));
  std::ranges::stable_sort(verdict.findings, std::greater{}, &Finding::severity);
  return verdict;
}

}  // namespace

std::vector<Verdict> audit(const std::vector<Object>& objects, const render::Knowledge& knowledge) {
  const Surroundings around(objects);
  std::vector<Verdict> verdicts;
  for (const Object& object : objects) {
    if (auto verdict = judge(object, around, knowledge)) verdicts.push_back(std::move(*verdict));
  }
  return verdicts;
}

}  // namespace inference::audit
