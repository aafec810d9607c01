#include "cli/version_command.h"

#include "cli/build_info.h"
#include "render/template_set.h"

namespace inference::cli {

std::string version_text() {
  const BuildInfo info = build_info();
  return std::string(info.version) + " (commit " + std::string(info.commit) + ")";
}

Outcome run_version(OutputFormat format) {
  const BuildInfo info = build_info();
  const std::string_view templates = render::TemplateSet::embedded().digest();
  if (format == OutputFormat::kJson) {
    return {.code = ExitCode::kOk,
            .out = Json{{"version", info.version}, {"commit", info.commit}, {"templates", templates}}.dump(2) + "\n",
            .err = ""};
  }
  return {.code = ExitCode::kOk,
          .out = "kubectl-inference " + version_text() + "\ntemplates " + std::string(templates) + "\n",
          .err = ""};
}

}  // namespace inference::cli
