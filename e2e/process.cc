#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

#include "e2e/real_cluster.h"

namespace inference::e2e {
namespace {

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (auto& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

int exit_code(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Output run(const std::vector<std::string>& command, const std::string& input) {
  // A file for the input: a pipe could fill while the child waits for its own to be read.
  std::string input_file = "/tmp/inference-e2e-XXXXXX";
  const int input_fd = mkstemp(input_file.data());
  unlink(input_file.c_str());
  if (write(input_fd, input.data(), input.size()) != static_cast<ssize_t>(input.size()))
    return {-1, "cannot write the input"};
  lseek(input_fd, 0, SEEK_SET);
  int out[2];
  if (pipe2(out, O_CLOEXEC) != 0) return {-1, "cannot make a pipe"};
  std::vector<std::string> words = command;
  auto arguments = pointers(words);
  const pid_t child = fork();
  if (child == 0) {
    dup2(input_fd, STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    dup2(out[1], STDERR_FILENO);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  close(input_fd);
  close(out[1]);
  Output output;
  char buffer[65536];
  for (ssize_t count = 0; (count = read(out[0], buffer, sizeof buffer)) > 0;)
    output.text.append(buffer, static_cast<std::size_t>(count));
  close(out[0]);
  int status = 0;
  waitpid(child, &status, 0);
  output.exit_code = exit_code(status);
  return output;
}

OperatorProcess::OperatorProcess(const RealCluster& cluster, const OperatorOptions& options) {
  const bool alone = options.old_lease == OperatorOptions::OldLease::kForget;
  if (alone) cluster.must({"delete", "lease", "inference-operator", "-n", "inference-system", "--ignore-not-found"});
  std::string log_file = "/tmp/inference-operator-log-XXXXXX";
  const int log_fd = mkstemp(log_file.data());
  log_file_ = log_file;
  if (options.kubeconfig.empty())
    kubeconfig_ = cluster.operator_kubeconfig(options.server.empty() ? cluster.server() : options.server);
  const std::string& kubeconfig = options.kubeconfig.empty() ? kubeconfig_ : options.kubeconfig;
  std::vector<std::string> words = {OPERATOR_BINARY, "--kubeconfig", kubeconfig, "--health-address", "127.0.0.1:0"};
  if (alone) {
    words.insert(words.end(), {"--leader-elect-lease-duration=1h", "--leader-elect-renew-deadline=50m"});
  }
  words.insert(words.end(), options.flags.begin(), options.flags.end());
  auto arguments = pointers(words);
  pid_ = fork();
  if (pid_ == 0) {
    dup2(log_fd, STDOUT_FILENO);
    dup2(log_fd, STDERR_FILENO);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  close(log_fd);
}

OperatorProcess::~OperatorProcess() {
  if (pid_ > 0) (void)stop(SIGTERM);
  unlink(log_file_.c_str());
  if (!kubeconfig_.empty()) unlink(kubeconfig_.c_str());
}

bool OperatorProcess::running() const {
  siginfo_t ended{};  // only looked at: stop() still has to reap it
  return pid_ > 0 && waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         ended.si_pid == 0;
}

int OperatorProcess::stop(int signal) {
  send(signal);
  return wait();
}

void OperatorProcess::send(int signal) const {
  if (pid_ > 0) kill(pid_, signal);  // -1 would mean every process
}

int OperatorProcess::wait() {
  if (pid_ <= 0) return 0;
  int status = 0;
  const bool ended = eventually([&] { return waitpid(pid_, &status, WNOHANG) == pid_; }, std::chrono::seconds{60});
  if (!ended) {
    kill(pid_, SIGKILL);
    waitpid(pid_, &status, 0);
  }
  pid_ = -1;
  return exit_code(status);
}

std::string OperatorProcess::log() const {
  std::ifstream file(log_file_);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

bool eventually(const std::function<bool()>& holds, std::chrono::seconds limit, std::chrono::milliseconds interval) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(interval);
  }
  return true;
}

}  // namespace inference::e2e
