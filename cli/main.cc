#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <exception>
#include <string>
#include <system_error>
#include <vector>

#include "base/utf8.h"
#include "cli/command_line.h"
#include "cli/files.h"

namespace {

using inference::cli::ExitCode;
using inference::cli::Outcome;
using inference::cli::write_all;

/// Nothing more can be done when standard error itself cannot be written.
void complain(const std::string& text) {
  static_cast<void>(write_all(STDERR_FILENO, text));
}

ExitCode print(const Outcome& outcome) {
  complain(outcome.err);
  const int error = write_all(STDOUT_FILENO, outcome.out);
  if (error == 0) return outcome.code;
  // The reader has seen enough (`| head`): no fault to report. Without SIGPIPE ignored by our parent we would be gone
  // already.
  if (error != EPIPE) complain("error: cannot write the output: " + std::generic_category().message(error) + "\n");
  return ExitCode::kFinding;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return static_cast<int>(
        print(inference::cli::run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc))));
  } catch (const std::exception& exception) {
    complain("error: this is a bug in kubectl-inference: " + inference::escape_for_terminal(exception.what()) + "\n");
  }
  return EXIT_FAILURE;
}
