#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace inference::audit {

enum class Severity { kInfo, kWarn, kError };

/// "error", "warn", "info".
[[nodiscard]] constexpr std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return "info";
    case Severity::kWarn:
      return "warn";
    case Severity::kError:
      break;
  }
  return "error";
}

/// What a rule has found at one place of a workload.
struct Found {
  std::string pointer;         // JSON pointer into the object; the place may be absent, where something is missing
  std::string message;         // what is wrong there and what follows from it; one sentence without a full stop
  std::string fix;             // what to write instead
  Json patch = Json::array();  // JSON patch (RFC 6902) of the object; empty where only a person can decide
  std::optional<Severity> severity{};  // where it is not the rule's own
};
using Founds = std::vector<Found>;

/// One finding of an audit.
struct Finding {
  std::string rule;
  Severity severity = Severity::kError;
  std::string object;  // "Deployment llm/llama"
  std::string path;    // as explain writes it: "spec.template.spec.containers[name=vllm].livenessProbe"
  std::string pointer;
  std::string message;
  std::string fix;
  Json patch = Json::array();
};

}  // namespace inference::audit
