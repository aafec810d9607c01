#include "topology/matrix.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/parse_integer.h"
#include "base/utf8.h"

namespace inference::topology {
namespace {

using Fields = std::vector<std::string_view>;

constexpr std::size_t kQuotedBytes = 160;

struct Word {
  std::string_view text;
  LinkKind kind;
};
constexpr std::array kWords{Word{"PIX", LinkKind::kPix},   Word{"PXB", LinkKind::kPxb}, Word{"PHB", LinkKind::kPhb},
                            Word{"NODE", LinkKind::kNode}, Word{"SYS", LinkKind::kSys}, Word{"SOC", LinkKind::kSys}};

std::unexpected<std::string> fault(std::string text) {
  return std::unexpected(std::move(text));
}

/// Without escape sequences (nvidia-smi underlines its heading, terminal or not) and carriage returns.
std::string plain(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r') continue;
    if (text[i] != '\x1b') {
      result += text[i];
      continue;
    }
    if (i + 1 >= text.size() || text[i + 1] != '[') continue;
    // ECMA-48: parameters and intermediates, then one final byte from @ to ~. A line's end ends a broken one.
    for (i += 2; i < text.size() && (text[i] < '@' || text[i] > '~'); ++i) {
      if (text[i] == '\n') break;
    }
    if (i < text.size() && text[i] == '\n') result += '\n';
  }
  return result;
}

Fields split(std::string_view line) {
  Fields fields;
  constexpr std::string_view kBlank = " \t";
  for (std::size_t at = line.find_first_not_of(kBlank); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlank, at), line.size());
    fields.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(kBlank, end);
  }
  return fields;
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_gpu(std::string_view field) {
  return field.starts_with("GPU") && all_digits(field.substr(3));
}

std::optional<Link> read_link(std::string_view field) {
  for (const Word& word : kWords) {
    if (field == word.text) return Link{.kind = word.kind, .nvlinks = 0};
  }
  if (!field.starts_with("NV") || !all_digits(field.substr(2))) return std::nullopt;
  const auto count = parse_integer<int>(field.substr(2));
  if (!count || *count == 0) return std::nullopt;
  return Link{.kind = LinkKind::kNvLink, .nvlinks = *count};
}

std::string quoted(std::string_view text) {
  std::string shown = escape_for_terminal(text.substr(0, kQuotedBytes));
  return text.size() > kQuotedBytes ? shown + "…" : shown;
}

/// Takes the lines one by one and holds what they have told so far.
class MatrixReader {
 public:
  std::expected<void, std::string> take(std::string_view line) {
    const Fields fields = split(line);
    if (fields.empty()) return {};
    if (!is_gpu(fields.front())) {
      // Only what stands before a matrix can say why there is none.
      if (said_.empty() && names_.empty() && fields.front().find('=') == std::string_view::npos) said_ = line;
      return {};
    }
    return names_.empty() ? take_heading(fields) : take_row(fields);
  }

  std::expected<Matrix, std::string> finish() const {
    if (names_.empty())
      return fault(said_.empty() ? "the output of nvidia-smi is empty"
                                 : "nvidia-smi shows no matrix of GPUs: " + quoted(said_));
    if (rows_.size() < names_.size()) return fault("the matrix has no row of " + names_[rows_.size()]);
    Matrix matrix;
    for (std::size_t a = 0; a < names_.size(); ++a) {
      for (std::size_t b = a + 1; b < names_.size(); ++b) {
        if (rows_[a][b] != rows_[b][a])
          return fault("the matrix is not the same in both directions: " + names_[a] + "-" + names_[b]);
        matrix.pairs.push_back({.a = a, .b = b, .link = rows_[a][b]});
      }
    }
    matrix.gpus = names_;
    return matrix;
  }

 private:
  std::expected<void, std::string> take_heading(const Fields& fields) {
    if (fields.size() > 1 && (fields[1] == "X" || read_link(fields[1]))) return fault("the matrix has no heading");
    for (const std::string_view field : fields) {
      if (!is_gpu(field)) break;
      if (std::ranges::find(names_, field) != names_.end())
        return fault("the heading of the matrix names " + std::string(field) + " twice");
      names_.emplace_back(field);
    }
    return {};
  }

  std::expected<void, std::string> take_row(const Fields& fields) {
    const std::string name(fields.front());
    const std::size_t self = rows_.size();
    if (self == names_.size() || name != names_[self])
      return fault("the matrix has a row of " + name +
                   (self == names_.size() ? " too many" : " in place of " + names_[self]));
    std::vector<Link> row;
    for (std::size_t column = 0; column < names_.size(); ++column) {
      if (column + 1 >= fields.size()) return fault("the row of " + name + " is cut");
      const std::string_view field = fields[column + 1];
      if (column == self) {
        if (field != "X") return fault("the row of " + name + " has no X for itself");
        row.emplace_back();
        continue;
      }
      const auto link = read_link(field);
      if (!link) return fault(name + "-" + names_[column] + " is of an unknown kind: " + quoted(field));
      row.push_back(*link);
    }
    rows_.push_back(std::move(row));
    return {};
  }

  std::vector<std::string> names_;       // of the heading, in its order
  std::vector<std::vector<Link>> rows_;  // those that have come, in the same order
  std::string_view said_;                // the first line that is none of a matrix
};

}  // namespace

std::string to_string(const Link& link) {
  if (link.kind == LinkKind::kNvLink) return "NV" + std::to_string(link.nvlinks);
  return std::string(std::ranges::find(kWords, link.kind, &Word::kind)->text);
}

std::expected<Matrix, std::string> read_matrix(std::string_view output) {
  const std::string text = plain(output);
  MatrixReader reader;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (auto taken = reader.take(std::string_view(text).substr(at, end - at)); !taken)
      return std::unexpected(std::move(taken.error()));
    at = end + 1;
  }
  return reader.finish();
}

}  // namespace inference::topology
