// The layers of the project are its architecture; this test keeps them. It reads the sources as text, so it needs no
// build of them.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/source_path.h"

namespace inference {
namespace {

struct Source {
  std::string path;    // from the repository root
  std::string folder;  // "base", "operator/client" …
  std::string text;
  std::vector<std::string> includes;  // as written between the quotes or the angle brackets
  /// Neither a test, nor a test's data, nor a program that the build runs.
  [[nodiscard]] bool is_library() const {
    return !path.ends_with("_test.cc") && !path.ends_with("_cases.cc") && !path.ends_with("fixtures.h") &&
           text.find("int main(") == std::string::npos;
  }
};

/// What each folder may include besides itself. `operator` is main.cc and what only it needs. e2e/ and bench/ are free.
const std::map<std::string, std::set<std::string>>& allowed_layers() {
  static const std::map<std::string, std::set<std::string>> kAllowed = {
      {"base", {}},
      {"crd", {"base"}},
      {"topology", {"base"}},
      {"diagnose", {"base"}},
      {"render", {"base", "crd", "topology"}},
      {"audit", {"base", "crd", "render"}},
      {"operator/client", {"base"}},
      {"operator/runtime", {"base", "operator/client"}},
      {"reconcilers", {"base", "crd", "render", "topology", "diagnose", "operator/client", "operator/runtime"}},
      {"operator", {"base", "crd", "render", "operator/client", "operator/runtime", "reconcilers"}},
      {"cli", {"base", "crd", "render", "topology", "diagnose", "audit", "operator/client"}},
  };
  return kAllowed;
}

/// The folder of the layers that the path is in, "" for none (a system header, generated code). Deeper folders belong
/// to their layer.
std::string layer_of(const std::string& path) {
  std::string best;
  for (const auto& [folder, allowed] : allowed_layers()) {
    if (path.starts_with(folder + "/") && folder.size() > best.size()) best = folder;
  }
  return best;
}

std::vector<std::string> includes_of(const std::string& text) {
  std::vector<std::string> includes;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("#include ")) continue;
    const std::size_t open = line.find_first_of("\"<");
    const std::size_t close = line.find_first_of("\">", open + 1);
    if (close != std::string::npos) includes.push_back(line.substr(open + 1, close - open - 1));
  }
  return includes;
}

std::vector<Source> read_sources() {
  std::vector<Source> sources;
  const std::filesystem::path root(source_path(""));
  for (const std::string top :
       {"base", "crd", "topology", "diagnose", "render", "audit", "operator", "reconcilers", "cli"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / top)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".h" && extension != ".cc") continue;
      std::ifstream file(entry.path());
      std::ostringstream text;
      text << file.rdbuf();
      const std::string path = entry.path().lexically_relative(root).generic_string();
      sources.push_back(
          {.path = path, .folder = layer_of(path), .text = text.str(), .includes = includes_of(text.str())});
    }
  }
  std::ranges::sort(sources, {}, &Source::path);
  return sources;
}

const std::vector<Source>& sources() {
  static const std::vector<Source> kSources = read_sources();
  return kSources;
}

bool includes_any(const Source& source, const std::vector<std::string>& prefixes) {
  return std::ranges::any_of(source.includes, [&prefixes](const std::string& include) {
    return std::ranges::any_of(prefixes, [&include](const std::string& prefix) { return include.starts_with(prefix); });
  });
}

/// The first of `words` in the code, comments left out; "" when there is none.
std::string first_use(const Source& source, const std::vector<std::string>& words) {
  std::istringstream lines(source.text);
  for (std::string line; std::getline(lines, line);) {
    line.resize(std::min(line.find("//"), line.size()));
    for (const std::string& word : words) {
      if (line.find(word) != std::string::npos) return word;
    }
  }
  return "";
}

TEST(Layers, AreFound) {
  std::set<std::string> folders;
  for (const Source& source : sources()) folders.insert(source.folder);
  for (const auto& [folder, allowed] : allowed_layers())
    EXPECT_TRUE(folders.contains(folder)) << folder << " has no sources";
}

TEST(Layers, IncludeOnlyWhatIsBelowThem) {
  for (const Source& source : sources()) {
    for (const std::string& include : source.includes) {
      const std::string layer = layer_of(include);
      if (layer.empty() || layer == source.folder) continue;
      EXPECT_TRUE(allowed_layers().at(source.folder).contains(layer)) << source.path << " includes " << include;
    }
  }
}

TEST(Layers, OnlyTheTransportsKnowTheHttpLibraries) {
  for (const Source& source : sources()) {
    if (source.path != "operator/client/transport_cpprest.cc") {
      EXPECT_FALSE(includes_any(source, {"cpprest/", "pplx/"})) << source.path << ": go through client's HttpTransport";
    }
    if (source.path != "operator/client/transport_curl.cc" && !source.path.starts_with("operator/client/curl_")) {
      EXPECT_FALSE(includes_any(source, {"curl/"})) << source.path << ": go through client's HttpTransport";
    }
  }
}

TEST(Layers, OnlyTheReaderAndTheWriterKnowTheYamlLibrary) {
  for (const Source& source : sources()) {
    if (source.path == "base/yaml_reader.cc" || source.path == "base/yaml_writer.cc") continue;
    EXPECT_FALSE(includes_any(source, {"yaml-cpp/"}))
        << source.path << ": use base/yaml_reader.h or base/yaml_writer.h";
  }
}

TEST(Layers, WhatOnlyDecidesIsPure) {
  const std::set<std::string> kPure = {"crd", "render", "topology", "diagnose", "audit"};
  const std::vector<std::string> impure = {
      "thread",  "fstream",       "filesystem",   "iostream",      "cstdio",        "future",   "condition_variable",
      "ctime",   "random",        "sys/",         "netinet",       "arpa/",         "unistd.h", "netdb.h",
      "fcntl.h", "openssl/ssl.h", "base/clock.h", "base/random.h", "base/logging.h"};
  for (const Source& source : sources()) {
    if (!kPure.contains(source.folder) || !source.is_library()) continue;
    for (const std::string& include : source.includes) {
      const bool found = std::ranges::any_of(impure, [&include](const std::string& name) {
        return name.ends_with('/') ? include.starts_with(name) : include == name;
      });
      EXPECT_FALSE(found) << source.path << " includes " << include << ": no I/O, clock, thread or randomness here";
    }
    const std::string use = first_use(source, {"system_clock", "steady_clock", "high_resolution_clock", "getenv"});
    EXPECT_EQ(use, "") << source.path << " reads a clock or the environment";
  }
}

TEST(Layers, OnlyBaseReadsTheClockOrSleeps) {
  const std::vector<std::string> time = {
      "sleep_for",         "sleep_until",          "usleep(", "nanosleep(", "system_clock::now",
      "steady_clock::now", "high_resolution_clock"};
  for (const Source& source : sources()) {
    if (source.folder == "base") continue;
    EXPECT_EQ(first_use(source, time), "") << source.path << ": use base/clock.h";
  }
}

}  // namespace
}  // namespace inference
