#include "render/json_leaves.h"

#include "base/json_pointer.h"

namespace inference::render {

namespace {

void walk(const Json& value, std::string& pointer,
          const std::function<void(const std::string& pointer, const Json& leaf)>& visit) {
  if (!value.is_structured() || value.empty()) return visit(pointer, value);
  const std::size_t size = pointer.size();
  if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      pointer += "/" + std::to_string(i);
      walk(value[i], pointer, visit);
      pointer.resize(size);
    }
    return;
  }
  for (const auto& [key, child] : value.items()) {
    append_pointer_token(pointer, key);
    walk(child, pointer, visit);
    pointer.resize(size);
  }
}

}  // namespace

void for_each_leaf(const Json& value, const std::function<void(const std::string& pointer, const Json& leaf)>& visit) {
  std::string pointer;
  walk(value, pointer, visit);
}

}  // namespace inference::render
