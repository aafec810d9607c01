#include "cli/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/yaml_reader.h"

namespace inference::cli {
namespace {

std::string error_text(int error) {
  return std::generic_category().message(error);
}

/// Closes what open() gave.
class Descriptor {
 public:
  explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
  ~Descriptor() {
    if (descriptor_ > STDERR_FILENO) ::close(descriptor_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return descriptor_; }

 private:
  int descriptor_;
};

}  // namespace

std::string shown_name(const std::string& name) {
  return name == "-" ? "<stdin>" : name;
}

std::expected<std::string, Diagnostic> read_file(const std::string& name) {
  const auto fault = [&name](std::string message) {
    return std::unexpected(Diagnostic{.file = shown_name(name), .path = "", .message = std::move(message)});
  };
  const Descriptor file(name == "-" ? STDIN_FILENO : ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (file.get() < 0) return fault("cannot open: " + error_text(errno));
  const std::size_t limit = YamlLimits{}.bytes;
  std::string text;
  constexpr std::size_t kChunk = 64 * 1024;
  while (text.size() <= limit) {
    const std::size_t before = text.size();
    text.resize(before + kChunk);
    const ssize_t got = ::read(file.get(), text.data() + before, kChunk);
    text.resize(before + (got > 0 ? static_cast<std::size_t>(got) : 0));
    if (got == 0) return text;
    if (got < 0 && errno != EINTR) return fault("cannot read: " + error_text(errno));
  }
  return fault("is larger than " + std::to_string(limit) + " bytes");
}

std::expected<std::map<std::string, std::string>, Diagnostic> read_folder(const std::string& folder,
                                                                          const std::vector<std::string>& extensions) {
  std::map<std::string, std::string> files;
  std::error_code error;
  auto entry = std::filesystem::recursive_directory_iterator(folder, error);
  for (; !error && entry != std::filesystem::end(entry); entry.increment(error)) {
    const std::filesystem::path& path = entry->path();
    if (path.filename().string().starts_with('.')) {
      entry.disable_recursion_pending();
      continue;
    }
    std::error_code unknown;  // of a link that leads nowhere or in a circle
    const std::filesystem::file_status status = entry->status(unknown);
    const auto fault = [&path](std::string message) {
      return std::unexpected(Diagnostic{.file = path.string(), .path = "", .message = std::move(message)});
    };
    if (std::filesystem::is_directory(status)) {
      if (entry->is_symlink(unknown)) return fault("is a link to a folder, which is not followed");
      continue;
    }
    if (std::ranges::find(extensions, path.extension().string()) == extensions.end()) continue;
    if (unknown) return fault("cannot open: " + error_text(unknown.value()));
    if (!std::filesystem::is_regular_file(status)) {
      const bool there = status.type() != std::filesystem::file_type::not_found;
      return fault(there ? "is no regular file" : "cannot open: " + error_text(ENOENT));
    }
    auto text = read_file(path.string());
    if (!text) return std::unexpected(std::move(text.error()));
    files.emplace(path.lexically_relative(folder).generic_string(), std::move(*text));
  }
  if (error)
    return std::unexpected(
        Diagnostic{.file = folder, .path = "", .message = "cannot read the folder: " + error_text(error.value())});
  if (files.empty())
    return std::unexpected(
        Diagnostic{.file = folder, .path = "", .message = "holds no " + extensions.front() + " file"});
  return files;
}

int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace inference::cli
