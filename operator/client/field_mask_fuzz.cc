// A masked parse gives what is left of a whole parse when the mask is laid on it afterwards.

#include <algorithm>
#include <functional>

#include "base/fuzzing.h"
#include "operator/client/field_mask.h"

namespace inference::client {
namespace {

using Path = std::vector<std::string>;
using Keeps = std::function<bool(const Path&)>;

constexpr std::size_t kLongest = 2;  // members of the longest path below; what lies deeper is not looked at

bool begins_with(const Path& path, const Path& prefix) {
  return path.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), path.begin());
}

/// Lays the mask on `value`, which lies `above` levels over the objects. `path` has an empty name for each list.
void lay_on(Json& value, std::size_t above, Path& path, const Keeps& keeps) {
  if (!value.is_structured()) return;
  if (above > 0) {
    for (Json& child : value) lay_on(child, above - 1, path, keeps);
    return;
  }
  for (auto child = value.begin(); child != value.end();) {
    path.push_back(value.is_object() ? child.key() : "");
    if (value.is_object() && path.size() <= kLongest && !keeps(path)) {
      child = value.erase(child);
    } else {
      lay_on(*child, 0, path, keeps);
      ++child;
    }
    path.pop_back();
  }
}

struct Case {
  FieldMask mask;
  Keeps keeps;
};

const std::vector<Case>& cases() {
  static const std::vector<Path> kKept = {{"metadata", "labels"},
                                          {"spec", "replicas"},
                                          {"status"},
                                          {"apiVersion"},
                                          {"kind"},
                                          {"metadata", "name"},
                                          {"metadata", "namespace"},
                                          {"metadata", "uid"},
                                          {"metadata", "resourceVersion"}};
  static const std::vector<Case> kCases = {
      {FieldMask(), [](const Path&) { return true; }},
      {FieldMask::without({"metadata.managedFields", "status"}),
       [](const Path& path) {
         return path != Path{"metadata", "managedFields"} && path != Path{"status"};
       }},
      {FieldMask::only({"metadata.labels", "spec.replicas", "status"}), [](const Path& path) {
         return std::ranges::any_of(
             kKept, [&](const Path& kept) { return begins_with(path, kept) || begins_with(kept, path); });
       }}};
  return kCases;
}

void check(std::string_view text) {
  constexpr std::size_t kDeepest = 2;  // a list's objects
  const Json whole = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  for (const Case& each : cases()) {
    for (std::size_t depth = 0; depth <= kDeepest; ++depth) {
      const auto masked = each.mask.parse(text, depth);
      if (masked.has_value() == whole.is_discarded()) broken("a mask does not decide what is JSON");
      if (!masked) continue;
      Json expected = whole;
      Path path;
      lay_on(expected, depth, path, each.keeps);
      if (*masked != expected)
        broken("a masked parse is a parse, masked", masked->dump() + " is not " + expected.dump());
    }
  }
}

}  // namespace
}  // namespace inference::client

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  inference::client::check(inference::fuzz_text(data, size));
  return 0;
}
