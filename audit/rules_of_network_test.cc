#include "audit/fixtures.h"

namespace inference::audit {
namespace {

using namespace fixtures;

const std::string kLeaderEngine = std::string(kLeader) + "/containers/0";
constexpr auto kLeaderPath = "spec.leaderWorkerTemplate.leaderTemplate.spec.containers[name=vllm]";

std::string in_leader(const std::string& key) {
  return std::string(kLeaderPath) + "." + key;
}
Json nccl(const std::string& value) {
  return with(good_group(), kLeaderEngine + "/env/3/value", value);
}

TEST(Rdma, FindsGroupsWithoutIt) {
  const std::string resource = kLeaderEngine + "/resources/limits/rdma~1ib";
  const Json missing = without(good_group(), resource);
  EXPECT_EQ(places(rdma, good_group()), Paths{});
  EXPECT_EQ(places(rdma, good()), Paths{}) << "one node";
  EXPECT_EQ(places(rdma, missing), Paths{in_leader("resources.limits")});
  for (const char* other : {"vpc.amazonaws.com~1efa", "nvidia.com~1hostdev", "example.com~1roce"})
    EXPECT_EQ(places(rdma, with(missing, kLeaderEngine + "/resources/limits/" + other, 1)), Paths{}) << other;
  EXPECT_EQ(places(rdma, with(missing, kLeaderEngine + "/resources/limits/example.com~1fpga", 1)).size(), 1U);
}

TEST(Rdma, KnowsOtherWaysToTheFabric) {
  const Json missing = without(good_group(), kLeaderEngine + "/resources/limits/rdma~1ib");
  EXPECT_EQ(places(rdma, with_item(missing, std::string(kLeader) + "/volumes",
                                   {{"name", "ib"}, {"hostPath", {{"path", "/dev/infiniband"}}}})),
            Paths{});
  EXPECT_EQ(places(rdma, with(missing, "/spec/leaderWorkerTemplate/leaderTemplate/metadata/annotations",
                              {{"k8s.v1.cni.cncf.io/networks", "roce"}})),
            Paths{});
  EXPECT_EQ(places(rdma, with(with(missing, std::string(kLeader) + "/hostNetwork", true),
                              kLeaderEngine + "/securityContext", {{"privileged", true}})),
            Paths{});
}

TEST(NcclInterface, FindsThatItIsLeftOpen) {
  const Json missing = without_item(good_group(), kLeaderEngine + "/env", "NCCL_SOCKET_IFNAME");
  EXPECT_EQ(places(nccl_interface, good_group()), Paths{});
  EXPECT_EQ(places(nccl_interface, good()), Paths{}) << "one node";
  EXPECT_EQ(places(nccl_interface, missing), Paths{in_leader("env")});
  EXPECT_EQ(places(nccl_interface, with(missing, kLeaderEngine + "/envFrom", {{{"secretRef", {{"name", "x"}}}}})),
            Paths{});
  static_cast<void>(fixed(nccl_interface, missing));
}

TEST(NcclInterface, FindsOneFixedName) {
  const Paths place = {in_leader("env[name=NCCL_SOCKET_IFNAME].value")};
  for (const char* one : {"eth0", "=eth0", "bond0", "ens5", "lo"})
    EXPECT_EQ(places(nccl_interface, nccl(one)), place) << one;
  for (const char* open : {"^lo", "eth", "eth0,eth1", "$(INTERFACE)", ""})
    EXPECT_EQ(places(nccl_interface, nccl(open)), Paths{}) << open;
  static_cast<void>(fixed(nccl_interface, nccl("eth0")));
}

TEST(GlooInterface, FindsTheExclusionForm) {
  EXPECT_EQ(places(gloo_interface, good()), Paths{});
  EXPECT_EQ(places(gloo_interface, with_env(good(), "GLOO_SOCKET_IFNAME", "eth0")), Paths{});
  const Json excluded = with_env(good(), "GLOO_SOCKET_IFNAME", "^lo,docker0");
  EXPECT_EQ(places(gloo_interface, excluded),
            Paths{"spec.template.spec.containers[name=vllm].env[name=GLOO_SOCKET_IFNAME].value"});
  EXPECT_EQ(fixed(gloo_interface, excluded), good());
  const Json script = with(with_args(good(), {"export GLOO_SOCKET_IFNAME='^lo'; vllm serve m"}),
                           std::string(kEngine) + "/command", {"sh", "-c"});
  EXPECT_EQ(places(gloo_interface, script), Paths{"spec.template.spec.containers[name=vllm].args[0]"});
}

}  // namespace
}  // namespace inference::audit
