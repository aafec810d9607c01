#include "audit/patch.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "base/json_members.h"
#include "base/json_pointer.h"

namespace inference::audit {
namespace {

/// What lies at the pointer; null when nothing does, or when it is no pointer.
const Json* find(const Json& object, const std::string& pointer) {
  try {
    const Json::json_pointer place(pointer);
    return object.contains(place) ? &object.at(place) : nullptr;
  } catch (const Json::exception&) {
    return nullptr;
  }
}

/// The object after the patch; nothing where it cannot be applied.
std::optional<Json> applied(const Json& object, const Json& patch) {
  try {
    return object.patch(patch);
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

Json operation(const char* op, const std::string& pointer, Json value) {
  return {{"op", op}, {"path", pointer}, {"value", std::move(value)}};
}

bool has_item(const Json& list, const Json& item) {
  const std::string name = text_at(item, "name");
  return std::ranges::any_of(
      list, [&](const Json& other) { return other == item || (!name.empty() && text_at(other, "name") == name); });
}

/// The operations that bring what `value` holds to a place that has something already.
void merge(const std::string& pointer, const Json& there, const Json& value, Json& operations) {
  if (there.is_array() && value.is_array()) {
    for (const Json& item : value) {
      if (!has_item(there, item)) operations.push_back(operation("add", pointer + "/-", item));
    }
  } else if (there.is_object() && value.is_object()) {
    for (const auto& [key, child] : value.items()) {
      std::string below = pointer;
      append_pointer_token(below, key);
      const auto found = there.find(key);
      if (found == there.end()) {
        operations.push_back(operation("add", below, child));
      } else {
        merge(below, *found, child, operations);
      }
    }
  } else if (there != value) {
    operations.push_back(operation("replace", pointer, value));
  }
}

/// Adds what a patch writes to those before it. Nothing of it where that fails.
void add_operations(const Json& object, Json& combined, const Json& patch) {
  const std::optional<Json> before = applied(object, combined);
  if (!before) return;
  Json adapted = Json::array();
  for (const Json& next : patch) {
    const std::string place = text_at(next, "path");
    if (text_at(next, "op") == "remove") continue;
    const Json* made = find(object, place) == nullptr ? find(*before, place) : nullptr;
    if (place.ends_with("/-")) {
      const Json* list = find(*before, place.substr(0, place.size() - 2));
      if (list == nullptr || !has_item(*list, member(next, "value"))) adapted.push_back(next);
    } else if (made != nullptr) {
      merge(place, *made, member(next, "value"), adapted);
    } else {
      adapted.push_back(next);
    }
  }
  if (!applied(*before, adapted)) return;
  for (Json& next : adapted) combined.push_back(std::move(next));
}

}  // namespace

std::string below(std::string pointer, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) append_pointer_token(pointer, key);
  return pointer;
}

void PatchWriter::write(Json next) {
  now_ = patched(now_, Json::array({next}));
  patch_.push_back(std::move(next));
}

PatchWriter& PatchWriter::set(std::string_view pointer, Json value) {
  std::string place(pointer);
  if (find(now_, place) != nullptr) {
    write(operation("replace", place, std::move(value)));
    return *this;
  }
  // The nearest ancestor that is a mapping gets the rest of the way as one value.
  while (true) {
    const std::size_t slash = place.rfind('/');
    const Json* above = find(now_, place.substr(0, slash));
    if (slash == 0 || slash == std::string::npos || (above != nullptr && above->is_object())) break;
    std::string key = place.substr(slash + 1);
    key = Json::json_pointer("/" + key).back();
    value = Json{{std::move(key), std::move(value)}};
    place.resize(slash);
  }
  write(operation(find(now_, place) == nullptr ? "add" : "replace", place, std::move(value)));
  return *this;
}

PatchWriter& PatchWriter::append(std::string_view pointer, Json item) {
  const std::string place(pointer);
  const Json* list = find(now_, place);
  if (list == nullptr || !list->is_array()) return set(pointer, Json::array({std::move(item)}));
  write(operation("add", place + "/-", std::move(item)));
  return *this;
}

PatchWriter& PatchWriter::remove(std::string_view pointer) {
  patch_.push_back({{"op", "remove"}, {"path", std::string(pointer)}});
  return *this;
}

Json combined_patch(const Json& object, const std::vector<Json>& patches) {
  Json combined = Json::array();
  std::set<std::pair<std::size_t, std::string>, std::greater<>> removed;  // a longer index is a larger one
  for (const Json& patch : patches) {
    if (!applied(object, patch)) continue;
    add_operations(object, combined, patch);
    for (const Json& next : patch) {
      const std::string place = text_at(next, "path");
      if (text_at(next, "op") == "remove") removed.emplace(place.size(), place);
    }
  }
  for (const auto& entry : removed) combined.push_back({{"op", "remove"}, {"path", entry.second}});
  return combined;
}

Json patched(const Json& object, const Json& patch) {
  return applied(object, patch).value_or(object);
}

}  // namespace inference::audit
