// A termination message: whatever it holds there is an answer, and a matrix that is taken is whole.

#include <algorithm>

#include "base/fuzzing.h"
#include "base/utf8.h"
#include "topology/verdict.h"

namespace inference::topology {
namespace {

void check_line(std::string_view text) {
  if (text.empty() || text.find('\n') != std::string_view::npos) broken("there is one line", text);
  while (!text.empty()) {
    const CodePoint first = decode_utf8(text);
    if (!first.valid) broken("a message is valid UTF-8", text);
    text.remove_prefix(first.bytes);
  }
}

void check_matrix(const Matrix& matrix) {
  if (matrix.gpus.empty()) broken("a matrix has a GPU");
  std::size_t next = 0;
  for (std::size_t a = 0; a < matrix.gpus.size(); ++a) {
    for (std::size_t b = a + 1; b < matrix.gpus.size(); ++b, ++next) {
      if (next >= matrix.pairs.size() || matrix.pairs[next].a != a || matrix.pairs[next].b != b)
        broken("each pair of GPUs is there, in order");
      if ((matrix.pairs[next].link.kind == LinkKind::kNvLink) != (matrix.pairs[next].link.nvlinks > 0))
        broken("NVLinks are counted", to_string(matrix.pairs[next].link));
    }
  }
  if (next != matrix.pairs.size()) broken("no pair is there twice");
}

void check(std::string_view text) {
  const auto plain = read_matrix(text);
  if (!plain) check_line(plain.error());
  const Record record = read_record(text);
  if (record.matrix) check_matrix(*record.matrix);
  const Verdict verdict = judge(record);
  check_line(verdict.reason);
  check_line(verdict.message);
  if ((verdict.answer == Answer::kBad) == verdict.crossing.empty()) broken("bad is what crosses", verdict.message);
  if (!record.matrix && verdict.answer != Answer::kUnknown) broken("nothing is known without a matrix", verdict.reason);
}

}  // namespace
}  // namespace inference::topology

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  inference::topology::check(inference::fuzz_text(data, size));
  return 0;
}
