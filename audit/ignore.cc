#include "audit/ignore.h"

#include <algorithm>
#include <ranges>

#include "audit/patch.h"
#include "audit/rules.h"
#include "base/json_members.h"
#include "base/suggestions.h"

namespace inference::audit {
namespace {

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1));
}

std::string unknown_rule(const std::string& id) {
  std::vector<std::string> ids;
  for (const Rule& rule : rules()) ids.emplace_back(rule.id);
  return "there is no rule " + id + did_you_mean(id, ids) + ": nothing is ignored by this entry";
}

void read_entries(const std::string& text, const std::string& pointer, const std::string& below_what,
                  Ignores& ignores) {
  for (const auto part : std::views::split(std::string_view(text), ';')) {
    const std::string entry = trimmed(std::string_view(part));
    if (entry.empty()) continue;
    const std::size_t colon = std::min(entry.find(':'), entry.size());
    const std::string rule = trimmed(std::string_view(entry).substr(0, colon));
    const std::string reason = colon == entry.size() ? "" : trimmed(std::string_view(entry).substr(colon + 1));
    const auto complain = [&](const char* id, std::string message, std::string fix) {
      ignores.findings.push_back({.rule = id,
                                  .severity = Severity::kWarn,
                                  .object = {},
                                  .path = {},
                                  .pointer = pointer,
                                  .message = std::move(message),
                                  .fix = std::move(fix)});
    };
    if (find_rule(rule) == nullptr) {
      complain("ignore-unknown-rule", unknown_rule(rule), "write \"rule: reason; rule: reason\"");
    } else if (reason.empty()) {
      complain("ignore-without-reason", "rule " + rule + " is to be ignored without a reason: it is not",
               "write \"" + rule + ": why\"");
    } else {
      ignores.entries.push_back({.rule = rule, .reason = reason, .below = below_what});
    }
  }
}

void read_annotation(const Json& metadata, std::string pointer, const std::string& below_what, Ignores& ignores) {
  const std::string text = text_at(member(metadata, "annotations"), kIgnoreAnnotation);
  pointer = below(std::move(pointer), {"metadata", "annotations", kIgnoreAnnotation});
  read_entries(text, pointer, below_what, ignores);
}

}  // namespace

const Ignore* Ignores::find(const Finding& finding) const {
  const auto found = std::ranges::find_if(entries, [&](const Ignore& ignore) {
    const bool lies_below =
        ignore.below.empty() || finding.pointer == ignore.below || finding.pointer.starts_with(ignore.below + "/");
    return ignore.rule == finding.rule && lies_below;
  });
  return found == entries.end() ? nullptr : &*found;
}

Ignores read_ignores(const Workload& workload) {
  Ignores ignores;
  read_annotation(member(*workload.object, "metadata"), "", "", ignores);
  for (const PodTemplate& pod : workload.templates) {
    if (pod.pointer.empty()) continue;  // a Pod: its metadata are the object's
    const bool only = workload.templates.size() == 1;
    read_annotation(pod.metadata(), pod.pointer, only ? "" : pod.pointer, ignores);
  }
  return ignores;
}

}  // namespace inference::audit
