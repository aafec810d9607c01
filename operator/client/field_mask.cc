#include "operator/client/field_mask.h"

#include <algorithm>

namespace inference::client {
namespace {

std::vector<std::string> split(const std::string& path) {
  std::vector<std::string> members;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    members.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return members;
}

}  // namespace

FieldMask FieldMask::without(std::vector<std::string> paths) {
  return {Mode::kWithout, paths};
}

FieldMask FieldMask::only(std::vector<std::string> paths) {
  for (const char* path :
       {"apiVersion", "kind", "metadata.name", "metadata.namespace", "metadata.uid", "metadata.resourceVersion"}) {
    paths.emplace_back(path);
  }
  return {Mode::kOnly, paths};
}

FieldMask::FieldMask(Mode mode, const std::vector<std::string>& paths) : mode_(mode) {
  for (const std::string& path : paths) {
    paths_.push_back(split(path));
    longest_ = std::max(longest_, paths_.back().size());
  }
}

bool FieldMask::keeps(const std::vector<std::string>& path) const {
  if (mode_ == Mode::kWithout) return std::ranges::find(paths_, path) == paths_.end();
  // On the way to a kept field, or below one.
  return std::ranges::any_of(paths_, [&path](const std::vector<std::string>& kept) {
    return std::equal(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(std::min(path.size(), kept.size())),
                      kept.begin());
  });
}

std::optional<Json> FieldMask::parse(std::string_view text, std::size_t depth) const {
  std::vector<std::string> path;  // of the member that is being decoded, as far as the mask looks
  const Json::parser_callback_t keep = [&](int level, Json::parse_event_t event, Json& key) {
    // The parser counts the containers around a key or a list, lists too: below one, `path` has an empty name for it.
    const bool list = event == Json::parse_event_t::array_start;
    if (!list && event != Json::parse_event_t::key) return true;
    const std::size_t around = static_cast<std::size_t>(level) + (list ? 1 : 0);
    if (around <= depth || around - depth > longest_) return true;
    path.resize(around - depth);
    path.back() = list ? std::string() : key.get_ref<const std::string&>();
    return list || keeps(path);
  };
  Json value = mode_ == Mode::kAll ? Json::parse(text.begin(), text.end(), nullptr, false)
                                   : Json::parse(text.begin(), text.end(), keep, false);
  if (value.is_discarded()) return std::nullopt;
  return value;
}

}  // namespace inference::client
