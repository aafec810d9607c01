#pragma once

#include <cstdint>
#include <string>
#include <string_view>

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

/// `absent` when there is no integer under `key`.
[[nodiscard]] inline std::int64_t integer_at(const Json& object, const char* key, std::int64_t absent = 0) {
  const Json& value = member(object, key);
  return value.is_number_integer() ? value.get<std::int64_t>() : absent;
}

/// The condition of this type in the status of a Kubernetes object, else a null.
[[nodiscard]] inline const Json& condition_in(const Json& status, std::string_view type) {
  static const Json kNothing;
  for (const Json& condition : member(status, "conditions")) {
    if (text_at(condition, "type") == type) return condition;
  }
  return kNothing;
}

/// The same in the object.
[[nodiscard]] inline const Json& condition_of(const Json& object, std::string_view type) {
  return condition_in(member(object, "status"), type);
}

}  // namespace inference
