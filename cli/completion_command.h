#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/outcome.h"

namespace CLI {
class App;
}

namespace inference::cli {

/// `completion SHELL`: a script that asks the program itself (`__complete`) at each Tab, so that it never goes stale.
[[nodiscard]] Outcome run_completion(std::string_view shell);

/// `__complete WORD…`: what can stand for the last word, in the protocol of kubectl's plugins and of all that is made
/// with cobra: a candidate a line, perhaps with a tab and a description, then `:N` where N is a sum of 2 (no space
/// after), 4 (no files), 8 (the candidates are file name extensions), 16 (folders only). All of it is read from the
/// parser's own declarations.
[[nodiscard]] Outcome run_complete(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace inference::cli
