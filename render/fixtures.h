#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

/// What the tests of rendered files and scripts share.
namespace inference::render {

/// Empty when there is no such file.
inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

using Environment = std::map<std::string, std::string>;

/// Starts a program with this environment and no other; what it prints is appended to files, which may be one.
inline pid_t start(const std::vector<std::string>& command, const Environment& environment,
                   const std::filesystem::path& out, const std::filesystem::path& err) {
  std::vector<char*> argv;
  for (const std::string& argument : command) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  std::vector<std::string> pairs;
  for (const auto& [name, value] : environment) pairs.push_back(name + "=" + value);
  std::vector<char*> envp;
  for (std::string& pair : pairs) envp.push_back(pair.data());
  envp.push_back(nullptr);
  const pid_t pid = fork();
  if (pid != 0) return pid;
  signal(SIGINT, SIG_DFL);  // tests that a shell has started in the background ignore it
  constexpr int kAppend = O_WRONLY | O_CREAT | O_APPEND;
  if (dup2(::open(out.c_str(), kAppend, 0600), STDOUT_FILENO) < 0 ||
      dup2(::open(err.c_str(), kAppend, 0600), STDERR_FILENO) < 0) {
    _exit(126);
  }
  execve(argv[0], argv.data(), envp.data());
  _exit(127);
}

/// As a shell tells it: 128 and the signal for a program that was killed.
inline int exit_code_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

inline int wait_for(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
  }
  return exit_code_of(status);
}

}  // namespace inference::render
