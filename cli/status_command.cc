#include "cli/status_command.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/utf8.h"
#include "base/wording.h"
#include "base/yaml_writer.h"
#include "cli/status_evidence.h"
#include "diagnose/diagnosis.h"

namespace inference::cli {
namespace {

using diagnose::Diagnosis;
using diagnose::Evidence;
using diagnose::Row;

/// More rows than a screen has help nobody; those that serve are left out first.
constexpr std::size_t kMostRows = 40;

std::string first_line(const Evidence& evidence, const Diagnosis& diagnosis) {
  std::string cause = diagnosis.finding.cause;
  while (cause.ends_with('.')) cause.pop_back();
  return evidence.title() + ": " + cause + "." +
         (diagnosis.finding.next.empty() ? "" : " Next: " + diagnosis.finding.next + ".");
}

/// "LeaderWorkerSet m: 1 of 2 replicas serve, 2 of the newest revision; gang Native; groups were made anew 3 times".
std::string summary(const Evidence& in) {
  std::string text = in.text("/status/workload/kind") + " " + in.text("/status/workload/name") + ": " +
                     std::to_string(in.number("/status/readyReplicas")) + " of " +
                     std::to_string(in.number("/status/desiredReplicas")) + " replicas serve, " +
                     std::to_string(in.number("/status/updatedReplicas")) + " of the newest revision";
  if (const std::string gang = in.text("/status/resolved/gang"); in.number("/status/nodes") > 1)
    text += "; gang " + gang;
  if (const auto restarts = in.number("/status/groups/restarts"); restarts > 0)
    text += "; groups were made anew " + counted(restarts, "time");
  return text;
}

std::array<std::string, 5> cells(const Row& row) {
  return {row.group.empty() ? "-" : row.group, row.pod, row.node.empty() ? "-" : row.node, row.phase, row.why};
}

std::string table(const std::vector<Row>& rows) {
  std::vector<std::array<std::string, 5>> lines = {{"GROUP", "POD", "NODE", "PHASE", "WHY"}};
  for (const Row& row : rows) lines.push_back(cells(row));
  std::array<std::size_t, 5> widths{};
  for (const auto& line : lines) {
    for (std::size_t column = 0; column < line.size(); ++column)
      widths[column] = std::max(widths[column], line[column].size());
  }
  std::string text;
  for (const auto& line : lines) {
    std::string row;
    for (std::size_t column = 0; column < line.size(); ++column) {
      row += escape_for_terminal(line[column]);
      if (column + 1 < line.size()) row += std::string(widths[column] - line[column].size() + 3, ' ');
    }
    while (row.ends_with(' ')) row.pop_back();
    text += row + "\n";
  }
  return text;
}

/// Those that are to be shown, and how many are not.
std::pair<std::vector<Row>, std::size_t> shown(std::vector<Row> rows) {
  if (rows.size() <= kMostRows) return {std::move(rows), 0};
  const std::size_t all = rows.size();
  std::ranges::stable_sort(rows, {}, [](const Row& row) { return row.why.empty(); });
  rows.resize(kMostRows);
  std::ranges::stable_sort(rows, {}, [](const Row& row) { return std::pair(row.group, row.pod); });
  return {std::move(rows), all - kMostRows};
}

std::string text(const Evidence& evidence, const Diagnosis& diagnosis) {
  std::string out = escape_for_terminal(first_line(evidence, diagnosis)) + "\n";
  if (!evidence.text("/status/workload/kind").empty()) out += "\n" + escape_for_terminal(summary(evidence)) + "\n";
  const auto [rows, more] = shown(diagnose::rows(evidence));
  if (!rows.empty()) out += table(rows);
  if (more > 0) out += "and " + std::to_string(more) + " more pods\n";
  return out;
}

Json json(const Evidence& evidence, const Diagnosis& diagnosis) {
  Json pods = Json::array();
  for (const Row& row : diagnose::rows(evidence)) {
    pods.push_back(
        {{"group", row.group}, {"pod", row.pod}, {"node", row.node}, {"phase", row.phase}, {"why", row.why}});
  }
  Json unread = Json::array();
  for (const auto& part : evidence.unread) unread.push_back({{"part", part.part}, {"why", part.why}});
  return {{"namespace", evidence.ns},         {"name", evidence.name},
          {"ready", diagnosis.ready},         {"rule", diagnosis.rule},
          {"cause", diagnosis.finding.cause}, {"next", diagnosis.finding.next},
          {"pods", std::move(pods)},          {"unread", std::move(unread)}};
}

}  // namespace

Outcome report_status(const Evidence& evidence, OutputFormat format) {
  const Diagnosis diagnosis = diagnose::diagnose(evidence);
  Outcome outcome{.code = diagnosis.ready ? ExitCode::kOk : ExitCode::kFinding, .out = {}, .err = {}};
  for (const auto& part : evidence.unread)
    outcome.err += "note: without " + part.part + ", which could not be read: " + escape_for_terminal(part.why) + "\n";
  switch (format) {
    case OutputFormat::kText:
      outcome.out = text(evidence, diagnosis);
      break;
    case OutputFormat::kJson:
      outcome.out = json(evidence, diagnosis).dump(2) + "\n";
      break;
    case OutputFormat::kYaml:
      outcome.out = write_yaml(json(evidence, diagnosis));
      break;
  }
  return outcome;
}

Outcome run_status(const StatusOptions& options, OutputFormat format) {
  const auto cluster = Cluster::open(options.cluster);
  if (!cluster) return {.code = ExitCode::kFinding, .out = "", .err = "error: " + cluster.error() + "\n"};
  const auto evidence = gather_evidence((*cluster)->api(), {(*cluster)->ns(), options.name});
  if (!evidence)
    return {.code = ExitCode::kFinding, .out = "", .err = "error: " + escape_for_terminal(evidence.error()) + "\n"};
  return report_status(*evidence, format);
}

}  // namespace inference::cli
