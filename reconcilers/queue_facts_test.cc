// What is behind a LocalQueue, as Kueue's objects say it.

#include "reconcilers/queue_facts.h"

#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "operator/client/testing/fake_http_server.h"

namespace inference::reconcilers {
namespace {

/// Answers with the object under each path, and 404 for any other.
class QueueFactsTest : public testing::Test {
 protected:
  render::QueueFacts ask() {
    client::ClientConfig config;
    config.server = server_.url();
    auto api = client::ApiClient::make(config, clock_);
    EXPECT_TRUE(api.has_value());
    const auto facts = ask_queue(**api, "llm", "lq", {});
    EXPECT_TRUE(facts.has_value()) << facts.error().message;
    return facts.value_or(render::QueueFacts{.exists = false, .fault = "failed", .covered = {}});
  }
  void have(const std::string& path, const Json& object) { objects_["/apis/kueue.x-k8s.io/v1beta2/" + path] = object; }
  void have_queue() {
    have("namespaces/llm/localqueues/lq", {{"spec", {{"clusterQueue", "cq"}}}});
    have("clusterqueues/cq", {{"spec",
                               {{"resourceGroups",
                                 {{{"coveredResources", {"cpu", "memory"}}, {"flavors", {{{"name", "flat"}}}}},
                                  {{"coveredResources", {"nvidia.com/gpu"}},
                                   {"flavors", {{{"name", "flat"}}, {{"name", "racks"}}, {{"name", "lost"}}}}}}}}}});
    have("resourceflavors/flat", {{"spec", Json::object()}});
    have("resourceflavors/racks", {{"spec", {{"topologyName", "topo"}}}});
  }

  std::map<std::string, Json> objects_;
  FakeClock clock_;
  client::FakeHttpServer server_{[this](client::FakeConnection& connection, const client::FakeRequest& request) {
    const auto found = objects_.find(request.target);
    if (found == objects_.end())
      return connection.respond(404, R"({"kind": "Status", "code": 404, "reason": "NotFound"})");
    connection.respond(200, found->second.dump());
  }};
};

TEST_F(QueueFactsTest, TellsTheFlavorsWithoutTopologyOfEachResource) {
  have_queue();
  const auto facts = ask();
  EXPECT_TRUE(facts.exists);
  EXPECT_EQ(facts.fault, "");
  EXPECT_EQ(facts.covered, (std::map<std::string, std::vector<std::string>>{
                               {"cpu", {"flat"}}, {"memory", {"flat"}}, {"nvidia.com/gpu", {"flat"}}}));
  EXPECT_EQ(server_.requests().size(), 5U) << "each flavor is asked for once";
}

TEST_F(QueueFactsTest, TakesWhatIsMissingForAFact) {
  EXPECT_FALSE(ask().exists);
  have("namespaces/llm/localqueues/lq", {{"spec", {{"clusterQueue", "cq"}}}});
  const auto facts = ask();
  EXPECT_TRUE(facts.exists);
  EXPECT_EQ(facts.fault, "there is no ClusterQueue cq");
  EXPECT_FALSE(facts.covered.has_value());
}

TEST_F(QueueFactsTest, SaysWhyAQueueAdmitsNothingInKueuesWords) {
  have_queue();
  objects_["/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq"]["status"]["conditions"] = {
      {{"type", "Active"}, {"status", "False"}, {"message", "references missing ResourceFlavor(s): lost"}}};
  EXPECT_EQ(ask().fault, "references missing ResourceFlavor(s): lost");
}

}  // namespace
}  // namespace inference::reconcilers
