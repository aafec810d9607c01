// The first line is a path as a user gives it to `explain --path`, the rest an object in JSON.

#include "base/fuzzing.h"
#include "render/json_leaves.h"
#include "render/object_path.h"

namespace inference::render {
namespace {

/// Whether all keys and texts are plain words; with brackets or quotes in them a path can't be taken apart again.
bool has_only_words(const Json& value) {
  const auto is_word = [](const std::string& text) {
    return !text.empty() &&
           text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") ==
               std::string::npos;
  };
  if (value.is_string()) return is_word(value.get_ref<const std::string&>());
  if (!value.is_structured()) return true;
  for (const auto& [key, child] : value.items()) {
    if ((value.is_object() && !is_word(key)) || !has_only_words(child)) return false;
  }
  return true;
}

void check_leaf(const Json& object, const std::string& pointer, const Json& leaf, std::string_view wanted,
                bool words_only) {
  if (object.at(Json::json_pointer(pointer)) != leaf) broken("a pointer leads to its leaf", pointer);
  const std::string path = object_path(object, pointer);
  if (!path_is_under(path, pointer, "")) broken("everything is under the empty path", pointer);
  if (path_fault(pointer) && !pointer.empty()) broken("a pointer that we write is well formed", pointer);
  if (!path_is_under(path, pointer, pointer)) broken("a leaf is under its own pointer", pointer);
  if (words_only && path_fault(path)) broken("a path that we write is well formed", path);
  if (words_only && !path_is_under(path, pointer, path)) broken("a leaf is under its own path", path);
  if (path_fault(wanted) && path_is_under(path, pointer, wanted)) broken("nothing is under what is no path", wanted);
  if (path_above(path).size() >= path.size() && !path.empty()) broken("what lies above is shorter", path);
}

void check(std::string_view text) {
  constexpr std::size_t kMostLeaves = 50;
  const std::size_t end = text.find('\n');
  const std::string_view wanted = text.substr(0, end);
  if (const auto fault = path_fault(wanted)) {
    if (fault->message.empty() || fault->position == 0 || fault->position > wanted.size() + 1)
      broken("a fault has a place in the path", wanted);
  }
  if (end == std::string_view::npos) return;
  const Json object = Json::parse(text.substr(end + 1), nullptr, /*allow_exceptions=*/false);
  if (object.is_discarded()) return;
  const bool words_only = has_only_words(object);
  std::size_t leaves = 0;
  for_each_leaf(object, [&](const std::string& pointer, const Json& leaf) {
    if (++leaves <= kMostLeaves) check_leaf(object, pointer, leaf, wanted, words_only);
  });
}

}  // namespace
}  // namespace inference::render

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  inference::render::check(inference::fuzz_text(data, size));
  return 0;
}
