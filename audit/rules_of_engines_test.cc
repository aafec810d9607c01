#include "audit/fixtures.h"

namespace inference::audit {
namespace {

using namespace fixtures;

const std::string kImage = std::string(kEngine) + "/image";

TEST(ServiceLinks, MatterToVllm) {
  const std::string links = std::string(kPod) + "/enableServiceLinks";
  const Json missing = without(good(), links);
  EXPECT_EQ(places(service_links, good()), Paths{});
  EXPECT_EQ(places(service_links, missing), Paths{"spec.template.spec.enableServiceLinks"}) << "true by default";
  EXPECT_EQ(places(service_links, with(good(), links, true)).size(), 1U);
  const Json other = with(with(missing, kImage, "corp/server:1"), std::string(kEngine) + "/command", {"serve"});
  EXPECT_EQ(places(service_links, other), Paths{});
  EXPECT_EQ(fixed(service_links, missing), good());
}

TEST(RemovedFlags, FindsWhatTheVersionEndsOn) {
  const Json removed = with_args(good(), {"--model", "/m", "--swap-space", "4", "--disable_log_requests"});
  EXPECT_EQ(places(removed_flags, good()), Paths{});
  EXPECT_EQ(places(removed_flags, removed), (Paths{"spec.template.spec.containers[name=vllm].args[2]",
                                                   "spec.template.spec.containers[name=vllm].args[4]"}));
  EXPECT_EQ(places(removed_flags, with_args(good(), {"--swap-space=4"})).size(), 1U);
  const Json script =
      with(with_args(good(), {"vllm serve m --swap-space 4"}), std::string(kEngine) + "/command", {"sh", "-c"});
  EXPECT_EQ(places(removed_flags, script), Paths{"spec.template.spec.containers[name=vllm].args[0]"});
}

TEST(RemovedFlags, FindsVariablesThatNobodyReads) {
  const Json old = with_env(good(), "VLLM_USE_V1", "1");
  EXPECT_EQ(places(removed_flags, old), Paths{"spec.template.spec.containers[name=vllm].env[name=VLLM_USE_V1]"});
  EXPECT_EQ(fixed(removed_flags, old), good());
}

TEST(RemovedFlags, ClaimNothingOfVersionsThatAreNotKnown) {
  const Json removed = with_args(good(), {"--model", "/m", "--swap-space", "4"});
  for (const char* image : {"vllm/vllm-openai", "vllm/vllm-openai:latest", "vllm/vllm-openai:v0.8.5",
                            "vllm/vllm-openai:nightly", "vllm/vllm-openai@sha256:0000", "corp/our-vllm:v1.2.3"})
    EXPECT_EQ(places(removed_flags, with(removed, kImage, image)), Paths{}) << image;
}

}  // namespace
}  // namespace inference::audit
