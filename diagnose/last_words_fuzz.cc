// A termination message is whatever an engine printed: what is made of it is one line of valid, printable UTF-8.

#include "base/fuzzing.h"
#include "base/utf8.h"
#include "diagnose/engine_failure.h"

namespace inference::diagnose {
namespace {

void check(std::string_view text) {
  const EngineFailure failure = read_last_words({.exit_code = 1, .reason = "Error", .message = std::string(text)});
  if (failure.reason.empty()) broken("there is a reason");
  if (failure.quote.size() > kLongestQuote) broken("a quote is short", failure.quote);
  if (failure.max_model_len && *failure.max_model_len < 1) broken("a length is positive", failure.text());
  const std::string whole = failure.text();
  std::string_view rest = whole;
  while (!rest.empty()) {
    const CodePoint first = decode_utf8(rest);
    if (!first.valid || first.value == '\n' || first.value == '\t' || !is_printable(first.value))
      broken("it is one printable line", whole);
    rest.remove_prefix(first.bytes);
  }
}

}  // namespace
}  // namespace inference::diagnose

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  inference::diagnose::check(inference::fuzz_text(data, size));
  return 0;
}
