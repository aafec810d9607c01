#include "operator/client/exec_plugin.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "operator/client/trust_store.h"

extern char** environ;  // NOLINT: POSIX

namespace inference::client {

namespace {

constexpr std::size_t kMaxOutput = std::size_t{1024} * 1024;
constexpr std::size_t kMaxShownError = 500;

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { reset(); }
  void reset(int fd = -1) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

struct Pipe {
  Descriptor read;
  Descriptor write;
  bool open() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
    read.reset(ends[0]);
    write.reset(ends[1]);
    return true;
  }
};

std::vector<std::string> make_environment(const ExecPlugin& plugin, const Json& info) {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos) variables[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  }
  variables.erase("SSL_CERT_FILE");
  if (auto original = original_ssl_cert_file()) variables["SSL_CERT_FILE"] = std::move(*original);
  for (const auto& [name, value] : plugin.env) variables[name] = value;
  variables["KUBERNETES_EXEC_INFO"] = info.dump();
  std::vector<std::string> result;
  for (const auto& [name, value] : variables) result.push_back(name + "=" + value);
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

/// Starts the program in a process group of its own. Returns an errno value.
int spawn(const ExecPlugin& plugin, const Json& info, const Pipe& output, const Pipe& errors, pid_t& pid) {
  std::vector<std::string> arguments{plugin.command};
  arguments.insert(arguments.end(), plugin.args.begin(), plugin.args.end());
  std::vector<std::string> environment = make_environment(plugin, info);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output.write.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors.write.get(), STDERR_FILENO);
  // A group, so that what it starts itself ends with it; default signals, since we may ignore SIGPIPE.
  sigset_t all;
  sigfillset(&all);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  const int error = ::posix_spawnp(&pid, plugin.command.c_str(), &actions, &attributes, pointers(arguments).data(),
                                   pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

enum class Reading { kDone, kTimeout, kCancelled, kTooMuch };

/// Reads both pipes to their ends. Time is the machine's here, not the injected clock's: what we wait for is a program.
Reading read_both(Pipe& output, Pipe& errors, std::string& out, std::string& err, TimePoint deadline,
                  const std::stop_token& stop) {
  const Descriptor stop_event(::eventfd(0, EFD_CLOEXEC));
  const std::stop_callback wake(stop, [&stop_event] {
    const std::uint64_t one = 1;
    (void)!::write(stop_event.get(), &one, sizeof(one));
  });
  const SystemClock clock;
  std::array<char, 16384> buffer;
  while (output.read.get() >= 0 || errors.read.get() >= 0) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock.now()).count();
    if (left <= 0) return Reading::kTimeout;
    std::array<pollfd, 3> fds{
        {{output.read.get(), POLLIN, 0}, {errors.read.get(), POLLIN, 0}, {stop_event.get(), POLLIN, 0}}};
    if (::poll(fds.data(), fds.size(), static_cast<int>(left)) <= 0) continue;
    if (fds[2].revents != 0) return Reading::kCancelled;
    for (const bool is_output : {true, false}) {
      if (fds[is_output ? 0 : 1].revents == 0) continue;
      Descriptor& end = is_output ? output.read : errors.read;
      std::string& text = is_output ? out : err;
      const ssize_t count = ::read(end.get(), buffer.data(), buffer.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) {
        end.reset();
        continue;
      }
      // Of errors only the beginning is shown, but all is read, or the program would block.
      if (is_output || text.size() < kMaxShownError) text.append(buffer.data(), static_cast<std::size_t>(count));
      if (is_output && text.size() > kMaxOutput) return Reading::kTooMuch;
    }
  }
  return Reading::kDone;
}

/// Reaps the program. Its output has ended, so it should end at once; what does not by `deadline` is killed, and with
/// it all that it started.
int reap(pid_t pid, TimePoint deadline, const std::stop_token& stop) {
  constexpr std::chrono::milliseconds kPause{2};
  SystemClock clock;
  int status = 0;
  for (;;) {
    const pid_t ended = ::waitpid(pid, &status, WNOHANG);
    if (ended == pid || (ended < 0 && errno != EINTR)) return status;
    // Not reaped yet, so the number can't belong to another group.
    if (clock.now() >= deadline || !sleep(clock, kPause, stop)) ::kill(-pid, SIGKILL);
  }
}

std::string printable(std::string_view text) {
  std::string result;
  for (const char c : text.substr(0, kMaxShownError)) {
    const auto byte = static_cast<unsigned char>(c);
    result += byte < 0x20 || byte == 0x7F ? ' ' : c;
  }
  while (!result.empty() && result.back() == ' ') result.pop_back();
  return result;
}

std::string describe(int status) {
  if (WIFSIGNALED(status)) return "was ended by signal " + std::to_string(WTERMSIG(status));
  return "failed with exit code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

std::expected<std::string, ExecError> run_exec_plugin(const ExecPlugin& plugin, const Json& info, Duration timeout,
                                                      std::stop_token stop) {
  const std::string name = "credential plugin " + plugin.command;
  Pipe output;
  Pipe errors;
  if (!output.open() || !errors.open())
    return std::unexpected(ExecError{.message = name + ": no pipe: " + std::strerror(errno)});
  const TimePoint deadline = SystemClock().now() + timeout;
  pid_t pid = 0;
  if (const int error = spawn(plugin, info, output, errors, pid); error != 0) {
    std::string message = name + " can't be started: " + std::strerror(error);
    if (error == ENOENT && !plugin.install_hint.empty()) message += ". " + printable(plugin.install_hint);
    return std::unexpected(ExecError{.message = std::move(message)});
  }
  output.write.reset();
  errors.write.reset();
  std::string out;
  std::string err;
  const Reading reading = read_both(output, errors, out, err, deadline, stop);
  if (reading != Reading::kDone) ::kill(-pid, SIGKILL);
  const int status = reap(pid, deadline, stop);
  const std::string shown = err.empty() ? "" : ": " + printable(err);
  switch (reading) {
    case Reading::kCancelled:
      return std::unexpected(ExecError{.cancelled = true, .message = name + " was cancelled"});
    case Reading::kTimeout:
      return std::unexpected(ExecError{.message = name + " took too long" + shown});
    case Reading::kTooMuch:
      return std::unexpected(ExecError{.message = name + " printed more than 1 MiB"});
    case Reading::kDone:
      break;
  }
  if (status != 0) return std::unexpected(ExecError{.message = name + " " + describe(status) + shown});
  return out;
}

}  // namespace inference::client
