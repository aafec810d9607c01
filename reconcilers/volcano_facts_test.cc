// What admission makes of a leader pod, read.

#include "reconcilers/volcano_facts.h"

#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "operator/client/testing/fake_http_server.h"

namespace inference::reconcilers {
namespace {

render::ClusterFacts ask(const client::FakeAnswer& answer) {
  FakeClock clock;
  client::FakeHttpServer server(client::in_turn({answer}));
  client::ClientConfig config;
  config.server = server.url();
  auto api = client::ApiClient::make(config, clock);
  EXPECT_TRUE(api.has_value());
  render::ClusterFacts facts;
  ask_volcano(**api, "inference-system", facts, {});
  EXPECT_EQ(server.requests().size(), 1U);
  EXPECT_TRUE(server.requests()[0].target.starts_with("/api/v1/namespaces/inference-system/pods?"));
  EXPECT_NE(server.requests()[0].target.find("dryRun=All"), std::string::npos);
  return facts;
}

std::string pod_of_group(const char* group) {
  Json pod = volcano_probe("inference-system");
  if (*group != 0) pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"] = group;
  return pod.dump();
}

TEST(AskVolcano, TellsWhoGaveTheLeaderItsGroup) {
  EXPECT_EQ(ask({201, pod_of_group("inference-operator-probe-0-probe")}).volcano,
            render::VolcanoGroups::kLeaderWorkerSet);
  EXPECT_EQ(ask({201, pod_of_group("inference-operator-probe-0")}).volcano, render::VolcanoGroups::kOperator);
  EXPECT_EQ(ask({201, pod_of_group("")}).volcano, render::VolcanoGroups::kNobody);
  EXPECT_EQ(ask({201, pod_of_group("podgroup-someone-else-made")}).volcano, render::VolcanoGroups::kNobody);
}

TEST(AskVolcano, KnowsThatItDoesNotKnow) {
  const auto facts = ask({403, R"({"kind": "Status", "code": 403, "reason": "Forbidden", "message": "not allowed"})"});
  EXPECT_EQ(facts.volcano, render::VolcanoGroups::kUnknown);
  EXPECT_NE(facts.volcano_fault.find("not allowed"), std::string::npos);
}

}  // namespace
}  // namespace inference::reconcilers
