#include "crd/conditions.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <tuple>

namespace inference::crd {
namespace {

constexpr std::size_t kMaxMessageBytes = 32768;

// Known types in their written order, others after them by name.
std::pair<std::size_t, std::string_view> rank(std::string_view type) {
  const auto position = std::ranges::find(kConditionTypes, type);
  return {static_cast<std::size_t>(std::ranges::distance(std::ranges::begin(kConditionTypes), position)), type};
}

void cut(std::string& message) {
  if (message.size() <= kMaxMessageBytes) return;
  std::size_t end = kMaxMessageBytes;
  while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xC0) == 0x80) --end;  // not inside a UTF-8 sequence
  message.resize(end);
}

std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::optional<ConditionStatus> status_at(const Json& object) {
  const std::string text = text_at(object, "status");
  for (const auto status : {ConditionStatus::kTrue, ConditionStatus::kFalse, ConditionStatus::kUnknown}) {
    if (text == to_string(status)) return status;
  }
  return std::nullopt;
}

}  // namespace

std::string_view to_string(ConditionStatus status) {
  switch (status) {
    case ConditionStatus::kTrue:
      return "True";
    case ConditionStatus::kFalse:
      return "False";
    case ConditionStatus::kUnknown:
      break;
  }
  return "Unknown";
}

Conditions Conditions::from_json(const Json& list) {
  Conditions result;
  if (!list.is_array()) return result;
  for (const Json& item : list) {
    if (!item.is_object()) continue;
    const auto status = status_at(item);
    const std::string type = text_at(item, "type");
    if (!status || type.empty() || result.find(type) != nullptr) continue;
    const auto generation = item.find("observedGeneration");
    const std::string since = text_at(item, "lastTransitionTime");
    result.set({.type = type,
                .status = *status,
                .reason = text_at(item, "reason"),
                .message = text_at(item, "message"),
                .last_transition_time = {},
                .observed_generation =
                    generation != item.end() && generation->is_number_integer() ? generation->get<std::int64_t>() : 0},
               since);
  }
  return result;
}

void Conditions::set(Condition condition, std::string_view now) {
  cut(condition.message);
  const auto position = std::ranges::lower_bound(conditions_, rank(condition.type), {},
                                                 [](const Condition& other) { return rank(other.type); });
  const bool replaces = position != conditions_.end() && position->type == condition.type;
  const bool keeps_time = replaces && position->status == condition.status && !position->last_transition_time.empty();
  condition.last_transition_time = keeps_time ? position->last_transition_time : std::string(now);
  if (replaces) {
    *position = std::move(condition);
  } else {
    conditions_.insert(position, std::move(condition));
  }
}

void Conditions::remove(std::string_view type) {
  std::erase_if(conditions_, [type](const Condition& condition) { return condition.type == type; });
}

const Condition* Conditions::find(std::string_view type) const {
  const auto position = std::ranges::find(conditions_, type, &Condition::type);
  return position == conditions_.end() ? nullptr : &*position;
}

Json Conditions::to_json() const {
  Json list = Json::array();
  for (const Condition& condition : conditions_) {
    list.push_back({{"type", condition.type},
                    {"status", to_string(condition.status)},
                    {"reason", condition.reason},
                    {"message", condition.message},
                    {"lastTransitionTime", condition.last_transition_time},
                    {"observedGeneration", condition.observed_generation}});
  }
  return list;
}

}  // namespace inference::crd
