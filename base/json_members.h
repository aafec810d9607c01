#pragma once

#include <string>

#include "base/json.h"

/// Lenient reads of what others wrote: an absent member, and one of another type, are nothing. None of them throws.
namespace inference {

/// Null when `object` is no object or has no such member.
[[nodiscard]] inline const Json& member(const Json& object, const char* key) {
  static const Json kNothing;
  const auto found = object.find(key);
  return found == object.end() ? kNothing : *found;
}

/// Empty when there is no string under `key`.
[[nodiscard]] inline std::string text_at(const Json& object, const char* key) {
  const auto* text = member(object, key).get_ptr<const std::string*>();
  return text == nullptr ? std::string() : *text;
}

}  // namespace inference
