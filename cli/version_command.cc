#include "cli/version_command.h"

#include "base/version.h"
#include "render/template_set.h"

namespace inference::cli {

std::string version_text() {
  return std::string(version()) + " (commit " + std::string(git_commit()) + ")";
}

Outcome run_version(OutputFormat format) {
  const std::string_view templates = render::TemplateSet::embedded().digest();
  if (format == OutputFormat::kJson) {
    return {.code = ExitCode::kOk,
            .out = Json{{"version", version()}, {"commit", git_commit()}, {"templates", templates}}.dump(2) + "\n",
            .err = ""};
  }
  return {.code = ExitCode::kOk,
          .out = "kubectl-inference " + version_text() + "\ntemplates " + std::string(templates) + "\n",
          .err = ""};
}

}  // namespace inference::cli
