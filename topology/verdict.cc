#include "topology/verdict.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "base/wording.h"

namespace inference::topology {
namespace {

// A status' message stays readable; the whole matrix is in the pod.
constexpr std::size_t kNamedPairs = 16;

/// The number after `key=` in the line; nothing when it is not there or no number.
std::optional<std::size_t> number(std::string_view line, std::string_view key) {
  for (std::size_t at = line.find(key); at != std::string_view::npos; at = line.find(key, at + 1)) {
    if (at > 0 && line[at - 1] != ' ') continue;
    std::size_t value = 0;
    const char* from = line.data() + at + key.size();
    const char* end = line.data() + line.size();
    const auto [rest, error] = std::from_chars(from, end, value);
    if (error == std::errc() && value > 0 && (rest == end || *rest == ' ')) return value;
  }
  return std::nullopt;
}

/// The pairs of which both GPUs work on the same layers. A number of GPUs that does not divide evenly says nothing of
/// who works with whom, so then all do.
std::vector<Pair> sharing_layers(const Matrix& matrix, std::optional<std::size_t> tensor) {
  const std::size_t gpus = matrix.gpus.size();
  const std::size_t group = !tensor || gpus % *tensor != 0 ? gpus : *tensor;
  std::vector<Pair> pairs;
  std::ranges::copy_if(matrix.pairs, std::back_inserter(pairs),
                       [group](const Pair& pair) { return pair.a / group == pair.b / group; });
  return pairs;
}

std::string names(const Matrix& matrix, const std::vector<Pair>& pairs) {
  std::string text;
  for (std::size_t i = 0; i < std::min(pairs.size(), kNamedPairs); ++i)
    text += (i == 0 ? "" : ", ") + matrix.gpus[pairs[i].a] + "-" + matrix.gpus[pairs[i].b];
  if (pairs.size() > kNamedPairs) text += " and " + std::to_string(pairs.size() - kNamedPairs) + " more";
  return text;
}

/// "NODE, NV12": each once, nearest first.
std::string kinds(const std::vector<Pair>& pairs) {
  std::set<std::pair<LinkKind, std::string>> seen;
  for (const Pair& pair : pairs) seen.emplace(pair.link.kind, to_string(pair.link));
  std::string text;
  for (const auto& [kind, word] : seen) text += (text.empty() ? "" : ", ") + word;
  return text;
}

}  // namespace

Record read_record(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  Record record;
  if (line.starts_with("tensor=")) record.given = {.gpus = number(line, "gpus="), .tensor = number(line, "tensor=")};
  record.matrix = read_matrix(text);
  return record;
}

Verdict judge(const Record& record) {
  const auto& [given, matrix] = record;
  if (!matrix) return {.answer = Answer::kUnknown, .reason = "NotReadable", .message = matrix.error(), .crossing = {}};
  const std::size_t gpus = matrix->gpus.size();
  if (given.gpus && *given.gpus != gpus) {
    return {.answer = Answer::kUnknown,
            .reason = "NotReadable",
            .message = "the matrix shows " + counted(static_cast<std::int64_t>(gpus), "GPU") + " where the pod has " +
                       std::to_string(*given.gpus),
            .crossing = {}};
  }
  const std::vector<Pair> pairs = sharing_layers(*matrix, given.tensor);
  if (pairs.empty()) {
    return {.answer = Answer::kGood, .reason = "SingleGPU", .message = "no two GPUs share a layer", .crossing = {}};
  }
  std::vector<Pair> crossing;
  std::ranges::copy_if(pairs, std::back_inserter(crossing),
                       [](const Pair& pair) { return pair.link.kind == LinkKind::kSys; });
  if (!crossing.empty()) {
    std::string message = names(*matrix, crossing) + " can only meet over the interconnect between sockets (SYS)";
    return {
        .answer = Answer::kBad, .reason = "CrossesSYS", .message = std::move(message), .crossing = std::move(crossing)};
  }
  const bool nvlink = std::ranges::all_of(pairs, [](const Pair& pair) { return pair.link.kind == LinkKind::kNvLink; });
  return {.answer = Answer::kGood,
          .reason = nvlink ? "NVLink" : "SameSocket",
          .message = "every pair of GPUs that shares layers is linked by " + kinds(pairs),
          .crossing = {}};
}

}  // namespace inference::topology
