// Manifests of any content: nothing is thrown, findings have places and texts, and patches can be applied.

#include <memory>

#include "audit/audit.h"
#include "audit/patch.h"
#include "audit/rules.h"
#include "base/fuzzing.h"
#include "base/yaml_reader.h"

namespace inference::audit {
namespace {

void check(const Verdict& verdict) {
  std::vector<Json> patches;
  for (const Finding& finding : verdict.findings) {
    if (finding.path.empty() || finding.message.empty() || finding.fix.empty())
      broken("a finding is whole", finding.rule);
    if (!finding.rule.starts_with("ignore-") && find_rule(finding.rule) == nullptr)
      broken("a finding is of a rule", finding.rule);
    patches.push_back(finding.patch);
  }
  for (const Ignored& ignored : verdict.ignored) {
    if (ignored.reason.empty()) broken("what is ignored has a reason", ignored.finding.rule);
  }
  const Json combined = combined_patch(*verdict.object, patches);
  if (!combined.empty() && patched(*verdict.object, combined) == *verdict.object) broken("a patch changes something");
}

void check(std::string_view text) {
  const auto documents = read_yaml_documents(text);
  if (!documents) return;
  std::vector<Object> objects;
  for (const JsonDocument& document : *documents) objects.push_back(std::make_shared<const Json>(document.value));
  for (const Verdict& verdict : audit(objects)) check(verdict);
}

}  // namespace
}  // namespace inference::audit

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  inference::audit::check(inference::fuzz_text(data, size));
  return 0;
}
