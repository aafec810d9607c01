// What the reader takes, the writer writes so that the reader gets the same value again.

#include <algorithm>

#include "base/fuzzing.h"
#include "base/yaml_reader.h"
#include "base/yaml_writer.h"

namespace inference {
namespace {

void check_lines(const JsonDocument& document, std::size_t lines_of_text) {
  for (const auto& [pointer, line] : document.lines) {
    if (line == 0 || line > lines_of_text) broken("each value stands on a line of the text", pointer);
    if (!document.value.contains(Json::json_pointer(pointer))) broken("only what is there has a line", pointer);
  }
}

void check_round_trip(const Json& value) {
  const std::string written = write_yaml(value);
  const auto again = read_yaml_documents(written);
  if (!again) broken("what is written can be read", again.error().message + "\n" + written);
  if (again->size() != 1 || again->front().value != value) broken("a value is read as it was written", written);
}

}  // namespace
}  // namespace inference

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace inference;
  const std::string_view text = fuzz_text(data, size);
  const auto documents = read_yaml_documents(text);
  if (!documents) {
    if (documents.error().message.empty()) broken("an error says what is wrong");
    return 0;
  }
  const auto breaks = std::ranges::count_if(text, [](char c) { return c == '\n' || c == '\r'; });
  for (const JsonDocument& document : *documents) {
    check_lines(document, static_cast<std::size_t>(breaks) + 1);
    check_round_trip(document.value);
  }
  return 0;
}
