#include "render/object_path.h"

#include <algorithm>
#include <array>
#include <ranges>
#include <set>
#include <utility>
#include <vector>

namespace inference::render {

namespace {

bool is_plain_word(std::string_view key) {
  return !key.empty() && std::ranges::all_of(key, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

std::vector<std::string> pointer_tokens(std::string_view pointer) {
  std::vector<std::string> tokens;
  while (pointer.starts_with('/')) {
    pointer.remove_prefix(1);
    const std::size_t end = std::min(pointer.find('/'), pointer.size());
    std::string token;
    for (std::size_t i = 0; i < end; ++i) {
      const bool escaped = pointer[i] == '~' && i + 1 < end;
      token += escaped ? (pointer[i + 1] == '1' ? '/' : '~') : pointer[i];
      if (escaped) ++i;
    }
    tokens.push_back(std::move(token));
    pointer.remove_prefix(end);
  }
  return tokens;
}

/// The lists that Kubernetes merges by key have that key in every item, and unique.
std::string_view identifying_key(const Json& list) {
  static constexpr std::array kKeys = {"name", "mountPath", "key"};
  const auto identifies = [&list](const char* key) {
    std::set<std::string_view> seen;
    return std::ranges::all_of(list, [&](const Json& item) {
      if (!item.is_object()) return false;
      const auto value = item.find(key);
      return value != item.end() && value->is_string() && seen.insert(value->get_ref<const std::string&>()).second;
    });
  };
  const auto found = std::ranges::find_if(kKeys, identifies);
  return found == kKeys.end() ? std::string_view{} : std::string_view(*found);
}

/// `wanted` in one form of brackets: [name=http] for [?(@.name=="http")].
std::string bracket_text(std::string_view inside) {
  std::string text(inside);
  if (text.starts_with("?(@.") && text.ends_with(")")) {
    text = text.substr(4, text.size() - 5);
    std::erase_if(text, [](char c) { return c == '"' || c == '\'' || c == ' '; });
    const std::size_t equals = text.find("==");
    if (equals != std::string::npos) text.erase(equals, 1);
  }
  if (text.size() >= 2 && (text.front() == '\'' || text.front() == '"') && text.back() == text.front())
    text = text.substr(1, text.size() - 2);
  return text;
}

std::vector<std::string> path_segments(std::string_view path) {
  std::vector<std::string> segments;
  std::string word;
  const auto finish_word = [&] {
    if (!word.empty()) segments.push_back(std::exchange(word, {}));
  };
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '\\' && i + 1 < path.size()) {
      word += path[++i];  // kubectl writes a dot in a key as \.
    } else if (path[i] == '.') {
      finish_word();
    } else if (path[i] == '[') {
      finish_word();
      const bool quoted = i + 1 < path.size() && path[i + 1] == '\'';
      const std::size_t end = path.find(quoted ? "']" : "]", i + (quoted ? 2 : 1));
      if (end == std::string_view::npos) return segments;
      const std::size_t close = quoted ? end + 1 : end;
      segments.push_back(bracket_text(path.substr(i + 1, close - i - 1)));
      i = close;
    } else {
      word += path[i];
    }
  }
  finish_word();
  return segments;
}

}  // namespace

std::string object_path(const Json& object, std::string_view pointer) {
  std::string path;
  const Json* place = &object;
  for (const std::string& token : pointer_tokens(pointer)) {
    if (place != nullptr && place->is_array()) {
      std::size_t index = 0;
      for (const char c : token) index = index * 10 + static_cast<std::size_t>(c - '0');
      const std::string_view key = index < place->size() ? identifying_key(*place) : std::string_view{};
      const std::string label = key.empty() ? token : std::string(key) + "=" + (*place)[index][key].get<std::string>();
      path += "[" + label + "]";
      place = index < place->size() ? &(*place)[index] : nullptr;
      continue;
    }
    if (is_plain_word(token))
      path += (path.empty() ? "" : ".") + token;
    else
      path += "['" + token + "']";
    const bool there = place != nullptr && place->is_object() && place->contains(token);
    place = there ? &(*place)[token] : nullptr;
  }
  return path;
}

bool path_is_under(std::string_view path, std::string_view pointer, std::string_view wanted) {
  const std::vector<std::string> tokens = pointer_tokens(pointer);
  if (wanted.starts_with('/')) {
    const std::vector<std::string> prefix = pointer_tokens(wanted);
    return prefix.size() <= tokens.size() && std::ranges::equal(prefix, tokens | std::views::take(prefix.size()));
  }
  if (wanted.starts_with('{') && wanted.ends_with('}')) wanted = wanted.substr(1, wanted.size() - 2);
  if (wanted.starts_with('$')) wanted.remove_prefix(1);
  const std::vector<std::string> prefix = path_segments(wanted);
  const std::vector<std::string> shown = path_segments(path);
  if (prefix.size() > shown.size() || shown.size() != tokens.size()) return false;
  for (std::size_t i = 0; i < prefix.size(); ++i) {
    if (prefix[i] != "*" && prefix[i] != shown[i] && prefix[i] != tokens[i]) return false;
  }
  return true;
}

}  // namespace inference::render
