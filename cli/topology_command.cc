#include "cli/topology_command.h"

#include <algorithm>
#include <expected>
#include <utility>

#include "base/utf8.h"
#include "cli/files.h"
#include "topology/pod_report.h"

namespace inference::cli {
namespace {

/// What was looked at, and what it says.
struct Report {
  std::string subject;  // "pod llm/m-0", or the file
  topology::Record record;
  bool held = false;
};

std::expected<Report, std::string> report_of_pod(const TopologyOptions& options) {
  const auto cluster = Cluster::open(options.cluster);
  if (!cluster) return std::unexpected(cluster.error());
  const client::ObjectRef ref{(*cluster)->ns(), options.pod};
  const std::string subject = "pod " + ref.to_string();
  const auto pod = (*cluster)->api().get(client::resources::kPod, ref, {});
  if (!pod) return std::unexpected(subject + ": " + pod.error().to_string());
  auto report = topology::read_pod_report(*pod);
  if (!report) {
    return std::unexpected(
        subject + " has no init container " + topology::kCheckContainer +
        ": spec.topologyCheck was Off, or one GPU was asked for. To look by hand:\n  kubectl exec -n " + ref.ns + " " +
        ref.name + " -- nvidia-smi topo -m | kubectl inference topology --from -");
  }
  if (!report->record) return std::unexpected(subject + " has not reported yet");
  return Report{.subject = subject, .record = std::move(*report->record), .held = report->held};
}

std::expected<Report, std::string> report_of_file(const std::string& file) {
  const auto text = read_file(file);
  if (!text) return std::unexpected(to_string(text.error()));
  return Report{.subject = shown_name(file), .record = topology::read_record(*text), .held = false};
}

std::string_view status_of(topology::Answer answer) {
  switch (answer) {
    case topology::Answer::kGood:
      return "True";
    case topology::Answer::kBad:
      return "False";
    case topology::Answer::kUnknown:
      break;
  }
  return "Unknown";
}

std::string text(const Report& report, const topology::Verdict& verdict) {
  std::string out = "TopologyVerified=" + std::string(status_of(verdict.answer)) + "/" + verdict.reason + ": " +
                    verdict.message + "\n" + escape_for_terminal(report.subject) +
                    (report.held ? ", whose engine is not started because of it" : "") + "\n";
  if (!report.record.matrix) return out;
  const topology::Matrix& matrix = *report.record.matrix;
  for (const topology::Pair& pair : matrix.pairs)
    out += "  " + matrix.gpus[pair.a] + "-" + matrix.gpus[pair.b] + "  " + to_string(pair.link) + "\n";
  return out;
}

Json pair_json(const topology::Matrix& matrix, const topology::Pair& pair) {
  return {{"gpus", {matrix.gpus[pair.a], matrix.gpus[pair.b]}}, {"link", to_string(pair.link)}};
}

std::string json(const Report& report, const topology::Verdict& verdict) {
  Json out = {{"subject", escape_for_terminal(report.subject)},
              {"status", status_of(verdict.answer)},
              {"reason", verdict.reason},
              {"message", verdict.message},
              {"held", report.held},
              {"gpus", Json::array()},
              {"pairs", Json::array()},
              {"crossing", Json::array()}};
  if (report.record.matrix) {
    const topology::Matrix& matrix = *report.record.matrix;
    out["gpus"] = matrix.gpus;
    for (const auto& pair : matrix.pairs) out["pairs"].push_back(pair_json(matrix, pair));
    for (const auto& pair : verdict.crossing) out["crossing"].push_back(pair_json(matrix, pair));
  }
  return out.dump(2) + "\n";
}

}  // namespace

Outcome run_topology(const TopologyOptions& options, OutputFormat format) {
  const auto report = options.from.empty() ? report_of_pod(options) : report_of_file(options.from);
  if (!report) return {.code = ExitCode::kFinding, .out = "", .err = "error: " + report.error() + "\n"};
  const topology::Verdict verdict = judge(report->record);
  return {.code = verdict.answer == topology::Answer::kGood ? ExitCode::kOk : ExitCode::kFinding,
          .out = format == OutputFormat::kJson ? json(*report, verdict) : text(*report, verdict),
          .err = ""};
}

}  // namespace inference::cli
