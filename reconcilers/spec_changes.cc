#include "reconcilers/spec_changes.h"

namespace inference::reconcilers {
namespace {

/// 0 when it is absent or no number.
std::int64_t number_at(const Json& object, const char* section, const char* field) {
  const auto found = object.find(section);
  if (found == object.end() || !found->is_object()) return 0;
  const auto value = found->find(field);
  return value != found->end() && value->is_number_integer() ? value->get<std::int64_t>() : 0;
}

std::int64_t generation_of(const Object& object) {
  return object == nullptr ? 0 : number_at(*object, "metadata", "generation");
}

}  // namespace

void SpecChanges::see(const runtime::Change& change) {
  waiting_.with([&](auto& waiting) {
    if (change.after == nullptr) {
      waiting.erase(change.ref);
      return;
    }
    const std::int64_t generation = generation_of(change.after);
    const auto entry = waiting.find(change.ref);
    if (number_at(*change.after, "status", "observedGeneration") == generation) {
      if (entry != waiting.end() && !entry->second.failed) waiting.erase(entry);
      return;
    }
    if (generation == generation_of(change.before)) return;
    waiting.insert_or_assign(change.ref, Waiting{.generation = generation, .since = clock_.now()});
  });
}

void SpecChanges::failed(const client::ObjectRef& ref, std::int64_t generation) {
  waiting_.with([&](auto& waiting) {
    const auto entry = waiting.find(ref);
    if (entry != waiting.end() && entry->second.generation == generation) entry->second.failed = true;
  });
}

std::optional<Duration> SpecChanges::applied(const client::ObjectRef& ref, std::int64_t generation) {
  return waiting_.with([&](auto& waiting) -> std::optional<Duration> {
    const auto entry = waiting.find(ref);
    if (entry == waiting.end() || entry->second.generation != generation) return std::nullopt;
    const Duration waited = clock_.now() - entry->second.since;
    waiting.erase(entry);
    return waited;
  });
}

}  // namespace inference::reconcilers
