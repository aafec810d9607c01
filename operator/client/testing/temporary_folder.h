#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace inference::client {

/// An empty folder that is removed with all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "client-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::string& path() const { return path_; }

  /// Replaces the file as the kubelet and certificate managers do: written beside, then renamed over it. Returns its
  /// path.
  std::string write(const std::string& name, std::string_view content) const {
    const std::string target = path_ + "/" + name;
    std::ofstream(target + ".new", std::ios::binary) << content;
    std::filesystem::rename(target + ".new", target);
    return target;
  }
  /// The same, executable by the owner.
  std::string write_program(const std::string& name, std::string_view content) const {
    const std::string target = write(name, content);
    std::filesystem::permissions(target, std::filesystem::perms::owner_all);
    return target;
  }

 private:
  std::string path_;
};

}  // namespace inference::client
