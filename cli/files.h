#pragma once

#include <expected>
#include <map>
#include <string>
#include <vector>

#include "cli/diagnostic.h"

namespace inference::cli {

/// The bytes of a file, or of standard input for `-`. Reads no more than the YAML reader would take, so that an endless
/// device or a huge file ends in one clear error.
[[nodiscard]] std::expected<std::string, Diagnostic> read_file(const std::string& name);

/// How a diagnostic names the file: "<stdin>" for `-`.
[[nodiscard]] std::string shown_name(const std::string& name);

/// All files with one of the extensions (".yaml") below the folder: name relative to it → text. Hidden entries are left
/// out. What is no regular file, or a link to a folder, is an error: left out without a word it would be missing later.
[[nodiscard]] std::expected<std::map<std::string, std::string>, Diagnostic> read_folder(
    const std::string& folder, const std::vector<std::string>& extensions);

/// Writes everything to the descriptor. Returns 0, or the errno of what failed.
[[nodiscard]] int write_all(int descriptor, std::string_view text);

}  // namespace inference::cli
