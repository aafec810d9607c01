#pragma once

#include <sys/types.h>

#include <cstddef>
#include <ctime>
#include <expected>
#include <string>
#include <string_view>
#include <system_error>

#include "operator/client/secret.h"

namespace inference::client {

/// Reads a small file once, a pipe as well, and names the cause when that fails: a folder, no right, too large.
[[nodiscard]] std::expected<std::string, std::error_code> read_small_file(const std::string& path);

/// A small file that may be replaced at any time. Costs one stat(2) while it is unchanged; follows symbolic links each
/// time, since the kubelet rotates a volume by pointing a link at a new folder. Not thread-safe.
class FileWatch {
 public:
  static constexpr std::size_t kMaxBytes = std::size_t{1024} * 1024;

  explicit FileWatch(std::string path) : path_(std::move(path)) {}

  /// The content now. The error names the file and the cause; an earlier content is then forgotten and read again at
  /// the next call.
  [[nodiscard]] std::expected<std::string_view, std::string> content();

 private:
  struct Identity {
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = 0;
    timespec modified = {};
    bool operator==(const Identity& other) const {
      return device == other.device && inode == other.inode && size == other.size &&
             modified.tv_sec == other.modified.tv_sec && modified.tv_nsec == other.modified.tv_nsec;
    }
  };

  std::string path_;
  bool read_ = false;
  Identity identity_;
  Secret content_;
};

}  // namespace inference::client
