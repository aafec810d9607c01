#include "audit/surroundings.h"

#include <algorithm>

#include "base/json_members.h"

namespace inference::audit {

Surroundings::Surroundings(const std::vector<Object>& objects) {
  for (const Object& object : objects) {
    const Json& metadata = member(*object, "metadata");
    objects_[{text_at(*object, "kind"), text_at(metadata, "name")}].push_back(
        {.ns = text_at(metadata, "namespace"), .object = object});
  }
}

const Json* Surroundings::find(std::string_view kind, std::string_view ns, std::string_view name) const {
  const auto entries = objects_.find({std::string(kind), std::string(name)});
  if (entries == objects_.end()) return nullptr;
  const auto there = [&](std::string_view wanted) -> const Json* {
    const auto entry = std::ranges::find(entries->second, wanted, &Entry::ns);
    return entry == entries->second.end() ? nullptr : entry->object.get();
  };
  if (const Json* same = there(ns)) return same;
  if (const Json* anywhere = there("")) return anywhere;
  return ns.empty() && entries->second.size() == 1 ? entries->second.front().object.get() : nullptr;
}

}  // namespace inference::audit
