#include "operator/client/file_watch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace inference::client {

namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

std::string cause(const std::string& path, const std::string& text) {
  return path + ": " + text;
}

std::unexpected<std::error_code> system_error(int number) {
  return std::unexpected(std::error_code(number, std::generic_category()));
}

std::expected<std::string, std::error_code> read_all(int fd) {
  std::string content;
  std::array<char, 16384> buffer;
  for (;;) {
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error(errno);
    if (count == 0) return content;
    content.append(buffer.data(), static_cast<std::size_t>(count));
    if (content.size() > FileWatch::kMaxBytes) return system_error(EFBIG);
  }
}

}  // namespace

std::expected<std::string, std::error_code> read_small_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (file.get() < 0) return system_error(errno);
  return read_all(file.get());
}

std::expected<std::string_view, std::string> FileWatch::content() {
  struct stat status {};
  const auto identify = [&status] { return Identity{status.st_dev, status.st_ino, status.st_size, status.st_mtim}; };
  if (read_ && ::stat(path_.c_str(), &status) == 0 && identify() == identity_) return content_.reveal();

  read_ = false;
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  const Descriptor file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  // Identity from the open file: what we read is what we remember, even when it is being replaced.
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) return std::unexpected(cause(path_, std::strerror(errno)));
  if (!S_ISREG(status.st_mode)) return std::unexpected(cause(path_, "not a regular file"));
  auto content = read_all(file.get());
  if (!content) return std::unexpected(cause(path_, content.error().message()));
  content_ = Secret(std::move(*content));
  identity_ = identify();
  read_ = true;
  return content_.reveal();
}

}  // namespace inference::client
