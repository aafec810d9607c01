#include "e2e/faults/fault_proxy.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace inference::e2e {
namespace {

/// The first line, without its end; empty when there is none.
std::string read_line(int fd) {
  std::string line;
  for (char c = 0; read(fd, &c, 1) == 1 && c != '\n';) line += c;
  return line;
}

}  // namespace

FaultProxy::FaultProxy(const std::string& server, const std::string& pki, const std::string& log_file,
                       std::uint64_t seed)
    : log_file_(log_file) {
  const char* program = std::getenv("INFERENCE_TEST_FAULT_PROXY");
  if (program == nullptr) {
    ADD_FAILURE() << "INFERENCE_TEST_FAULT_PROXY is not set: run this test by ./dev test --only faults";
    return;
  }
  const std::string seed_text = std::to_string(seed);
  int out[2];
  EXPECT_EQ(pipe2(out, O_CLOEXEC), 0);
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(out[1], STDOUT_FILENO);
    execl(program, program, "-server", server.c_str(), "-pki", pki.c_str(), "-log", log_file.c_str(), "-seed",
          seed_text.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  close(out[1]);
  const std::string port = read_line(out[0]);
  close(out[0]);
  EXPECT_FALSE(port.empty()) << program << " did not start";
  if (!port.empty()) url_ = "https://127.0.0.1:" + port;
}

FaultProxy::~FaultProxy() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

int FaultProxy::count() const {
  std::ifstream file(log_file_);
  return static_cast<int>(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
}

void FaultProxy::calm() const {
  kill(pid_, SIGUSR1);
}

}  // namespace inference::e2e
