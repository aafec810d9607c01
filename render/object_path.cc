#include "render/object_path.h"

#include <algorithm>
#include <array>
#include <expected>
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

/// A path on its way through the parser. Positions are those of the whole text.
struct Reader {
  std::string_view text;
  std::size_t at = 0;
  [[nodiscard]] bool done() const { return at >= text.size(); }
  [[nodiscard]] std::unexpected<PathFault> fault(std::size_t where, std::string message) const {
    return std::unexpected(PathFault{.position = where + 1, .message = std::move(message)});
  }
};

/// `@.name=="http"`, the filter of kubectl's JSONPath, as `name=http`; empty where it is another one.
std::string filter_text(std::string_view filter) {
  std::string text(filter);
  std::erase_if(text, [](char c) { return c == '"' || c == '\'' || c == ' '; });
  const std::size_t equals = text.find("==");
  if (!text.starts_with("@.") || equals == std::string::npos || equals == 2 || equals + 2 == text.size()) return {};
  text.erase(equals, 1);
  return text.substr(2);
}

/// What stands between brackets, of which the reader is at the opening one: an index, `*`, `name=http`, a quoted key or
/// a filter.
std::expected<std::string, PathFault> read_brackets(Reader& reader) {
  const std::size_t open = reader.at++;
  const std::string_view rest = reader.text.substr(reader.at);
  const bool quoted = rest.starts_with('\'') || rest.starts_with('"');
  const bool filter = rest.starts_with("?(");
  const std::string closing = quoted ? std::string(1, rest.front()) + "]" : filter ? ")]" : "]";
  const std::size_t skipped = quoted ? 1 : filter ? 2 : 0;
  const std::size_t end = rest.find(closing, skipped);
  if (end == std::string_view::npos) return reader.fault(open, "this [ has no " + closing);
  reader.at += end + closing.size();
  const std::string_view inside = rest.substr(skipped, end - skipped);
  if (quoted) return std::string(inside);
  if (filter) {
    std::string text = filter_text(inside);
    if (text.empty()) return reader.fault(open, "the only filter is [?(@.name==\"http\")], of one field's text");
    return text;
  }
  const std::size_t equals = inside.find('=');
  if (inside.empty())
    return reader.fault(open, "nothing stands in these brackets: an index, *, or name=http is expected");
  if (equals == 0 || equals + 1 == inside.size()) return reader.fault(open, "name=http is expected in these brackets");
  if (const std::size_t other = inside.find('['); other != std::string_view::npos)
    return reader.fault(open, "this [ has no ]");
  return std::string(inside);
}

/// A word up to the next dot or bracket; kubectl writes a dot in a key as \.
std::expected<std::string, PathFault> read_word(Reader& reader) {
  const std::size_t begin = reader.at;
  std::string word;
  for (; !reader.done() && reader.text[reader.at] != '.' && reader.text[reader.at] != '['; ++reader.at) {
    const char c = reader.text[reader.at];
    if (c == ']') return reader.fault(reader.at, "this ] has no [");
    if (c == '\\' && ++reader.at == reader.text.size()) return reader.fault(reader.at - 1, "\\ ends the path");
    word += reader.text[reader.at];
  }
  if (word.empty()) return reader.fault(begin, "a name is missing");
  return word;
}

std::expected<std::vector<std::string>, PathFault> path_segments(std::string_view path) {
  Reader reader{.text = path};
  if (path.starts_with('{')) {
    if (!path.ends_with('}')) return reader.fault(0, "this { has no } at the end");
    reader.text.remove_suffix(1);
    ++reader.at;
  }
  if (reader.text.substr(reader.at).starts_with('$')) ++reader.at;
  // The dot before the first name is kubectl's; alone it is everything.
  if (reader.text.substr(reader.at).starts_with('.')) ++reader.at;
  std::vector<std::string> segments;
  for (bool first = true; !reader.done(); first = false) {
    const char c = reader.text[reader.at];
    if (!first && c != '.' && c != '[') return reader.fault(reader.at, "a dot is missing");
    if (!first && c == '.') ++reader.at;
    auto segment = c == '[' ? read_brackets(reader) : read_word(reader);
    if (!segment) return std::unexpected(std::move(segment.error()));
    segments.push_back(*std::move(segment));
  }
  return segments;
}

std::optional<PathFault> pointer_fault(std::string_view pointer) {
  for (std::size_t i = 0; i < pointer.size(); ++i) {
    const bool escape = pointer[i] == '~';
    if (escape && (i + 1 == pointer.size() || (pointer[i + 1] != '0' && pointer[i + 1] != '1')))
      return PathFault{.position = i + 1, .message = "in a JSON pointer ~ is written ~0, and / in a key ~1"};
  }
  return std::nullopt;
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

std::string path_above(std::string_view path) {
  std::size_t end = path.rfind('.');
  if (path.ends_with("']")) {
    end = path.rfind("['");
  } else if (path.ends_with(']')) {
    end = path.rfind('[');
  }
  return std::string(path.substr(0, end == std::string_view::npos ? 0 : end));
}

std::optional<PathFault> path_fault(std::string_view wanted) {
  if (wanted.starts_with('/')) return pointer_fault(wanted);
  const auto segments = path_segments(wanted);
  return segments ? std::nullopt : std::optional(segments.error());
}

bool path_is_under(std::string_view path, std::string_view pointer, std::string_view wanted) {
  const std::vector<std::string> tokens = pointer_tokens(pointer);
  if (wanted.starts_with('/')) {
    if (pointer_fault(wanted)) return false;
    const std::vector<std::string> prefix = pointer_tokens(wanted);
    return prefix.size() <= tokens.size() && std::ranges::equal(prefix, tokens | std::views::take(prefix.size()));
  }
  const auto prefix = path_segments(wanted);
  if (!prefix || prefix->size() > tokens.size()) return false;
  // Where a name has brackets of its own the shown path can't be taken apart again: tokens then are all there is.
  const auto written = path_segments(path);
  const std::vector<std::string>& shown = written && written->size() == tokens.size() ? *written : tokens;
  for (std::size_t i = 0; i < prefix->size(); ++i) {
    const std::string& step = (*prefix)[i];
    if (step != "*" && step != shown[i] && step != tokens[i]) return false;
  }
  return true;
}

}  // namespace inference::render
