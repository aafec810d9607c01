#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace inference::audit {

/// A word of a container's command line, and the item of `command` or `args` that it comes from.
struct Word {
  std::string text;     // "\n" for whatever ends a command in a script: `;`, `&&`, `|`, a line's end
  std::string pointer;  // "/spec/template/spec/containers/0/args/1"
};
using Words = std::vector<Word>;

/// The constants of a container's `env`: name → value.
using Constants = std::map<std::string, std::string, std::less<>>;

/// What a container's command and args say. A script after `sh -c` is taken apart as a shell would take it, as far as
/// that can be known: variables stand for their constant, or stay as written, and comments are left out.
[[nodiscard]] Words command_words(const Json& container, std::string_view pointer, const Constants& constants);

/// A flag of a command line.
struct Flag {
  std::string name;     // as written, without what follows `=`
  std::string value;    // empty where none follows
  std::string pointer;  // of the flag
};

/// The last occurrence of a flag in any of its spellings, since engines take the last; `_` and `-` are the same.
[[nodiscard]] std::optional<Flag> find_flag(const Words& words, std::initializer_list<std::string_view> names);

/// The number that a flag has; nothing where there is no flag, or no number.
[[nodiscard]] std::optional<std::int64_t> number_of_flag(const Words& words,
                                                         std::initializer_list<std::string_view> names);

/// Whether a command of the container begins with these words, which may stand at the end of a path
/// (`/usr/bin/python3`).
[[nodiscard]] bool calls(const Words& words, std::initializer_list<std::string_view> command);

}  // namespace inference::audit
