// The output of a credential plugin, asked for either version.

#include "base/fuzzing.h"
#include "operator/client/exec_plugin.h"

namespace inference::client {
namespace {

void check(std::string_view output) {
  constexpr std::string_view kVersions[] = {"client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"};
  int taken = 0;
  for (const std::string_view version : kVersions) {
    const auto credential = parse_exec_credential(output, version);
    if (!credential) {
      if (credential.error().empty()) broken("an error says what is wrong");
      continue;
    }
    ++taken;
    if (credential->token.empty() && credential->certificate_pem.empty()) broken("a credential is one");
    if (credential->certificate_pem.empty() != credential->key_pem.empty()) broken("certificate and key go together");
  }
  if (taken > 1) broken("an output is of one version");
}

}  // namespace
}  // namespace inference::client

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  inference::client::check(inference::fuzz_text(data, size));
  return 0;
}
