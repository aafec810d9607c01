// Each line that is JSON is packed, all by one packer: each comes back as it was.

#include "base/fuzzing.h"
#include "operator/runtime/packed_object.h"

namespace inference::runtime {
namespace {

void check(std::string_view lines) {
  ObjectPacker packer;
  std::vector<std::pair<Json, PackedObject>> packed;
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    Json object = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (object.is_discarded()) continue;
    PackedObject at_rest = packer.pack(object);
    packed.emplace_back(std::move(object), std::move(at_rest));
  }
  for (const auto& [object, at_rest] : packed) {
    const Object back = at_rest.unpack();
    if (*back != object || back->dump() != object.dump()) broken("an object comes back as it was", object.dump());
  }
}

}  // namespace
}  // namespace inference::runtime

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  inference::runtime::check(inference::fuzz_text(data, size));
  return 0;
}
