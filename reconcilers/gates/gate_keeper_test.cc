#include "reconcilers/gates/gate_keeper.h"

#include <gtest/gtest.h>

#include <set>

#include "base/fake_clock.h"
#include "operator/client/testing/fake_http_server.h"
#include "operator/runtime/store.h"
#include "operator/runtime/testing/scripted_list_watch.h"
#include "reconcilers/gates/fixtures.h"

namespace inference::reconcilers::gates {
namespace {

using runtime::ReconcileError;
using runtime::Result;
using runtime::testing::ScriptedListWatch;

/// The keeper with pods that the test puts into its cache, nodes from a script, and a server that accepts every write
/// but those of some pods.
class GateKeeperTest : public testing::Test {
 protected:
  GateKeeperTest() {
    client::ClientConfig config;
    config.server = server_.url();
    api_ = std::move(client::ApiClient::make(config, clock_).value());
    keeper_ = std::make_unique<GateKeeper>(
        GateKeeper::Sources{gated_.lister(), nodes_, others_}, board_, std::make_shared<Pauses>(),
        [this](const client::ObjectRef& owner) { told_.push_back(owner); }, *api_, recorder_, clock_);
  }

  /// The first list of the kind; its watch then stays open.
  static std::unique_ptr<ScriptedListWatch> listed(std::vector<Json> objects) {
    auto script = std::make_unique<ScriptedListWatch>();
    client::ListPage page;
    page.resource_version = "1";
    page.items = std::move(objects);
    script->answer_list(page);
    return script;
  }
  static std::vector<Json> two_nodes() {
    std::vector<Json> nodes = {node_object("a"), node_object("b")};
    for (Json& node : nodes) node["metadata"]["resourceVersion"] = "1";
    return nodes;
  }

  void answer(client::FakeConnection& connection, const client::FakeRequest& request) {
    const std::string name = request.target.substr(request.target.rfind('/') + 1);
    const auto code = codes_.find(name.substr(0, name.find('?')));
    if (code == codes_.end()) return connection.respond(200, "{}");
    connection.respond(code->second, Json{{"kind", "Status"}, {"code", code->second}, {"message", "no"}}.dump());
  }

  void hold(const std::string& set, int size, int gpus = 8) {
    for (int worker = 0; worker < size; ++worker) (void)gated_.apply(member_pod(set, 0, worker, size, gpus));
  }
  std::expected<Result, ReconcileError> reconcile() { return keeper_->reconcile({kAllGroups, "r"}, {}); }
  /// Pods whose gate was lifted, or that were deleted: "PATCH m-0".
  [[nodiscard]] std::multiset<std::string> writes() const {
    std::multiset<std::string> all;
    for (const auto& request : server_.requests()) {
      const std::string name = request.target.substr(request.target.rfind('/') + 1);
      all.insert(request.method + " " + name.substr(0, name.find('?')));
    }
    return all;
  }

  std::map<std::string, int> codes_;  // by pod: how its writes are answered; constant while requests are made
  FakeClock clock_;
  SeededRandom random_{1};
  runtime::Metrics metrics_;
  runtime::Recorder recorder_{{.instance = "test"},
                              [](const Json&, std::stop_token) -> std::expected<void, client::ApiError> { return {}; },
                              metrics_,
                              clock_,
                              random_};
  runtime::StoreWriter gated_;
  runtime::Informer nodes_{{.kind = "Node"}, listed(two_nodes()), metrics_, clock_, random_};
  runtime::Informer others_{{.kind = "Pod"}, listed({}), metrics_, clock_, random_};
  std::shared_ptr<Board> board_ = std::make_shared<Board>();
  std::vector<client::ObjectRef> told_;
  client::FakeHttpServer server_{
      [this](client::FakeConnection& connection, const client::FakeRequest& request) { answer(connection, request); }};
  std::unique_ptr<client::ApiClient> api_;
  std::unique_ptr<GateKeeper> keeper_;
};

using Writes = std::multiset<std::string>;

TEST_F(GateKeeperTest, WatchesNoNodesWhileNoGroupIsHeld) {
  ASSERT_TRUE(reconcile().has_value());
  EXPECT_FALSE(nodes_.has_synced());
  EXPECT_FALSE(others_.has_synced());
  EXPECT_EQ(writes(), Writes{});
}

TEST_F(GateKeeperTest, LiftsTheGatesOfAGroupThatFits) {
  hold("m", 2);
  const auto outcome = reconcile();
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
  EXPECT_EQ(outcome->delay(), std::nullopt);
  EXPECT_EQ(writes(), (Writes{"PATCH m-0", "PATCH m-0-1"}));
  EXPECT_TRUE(told_.empty());
  // Only of the very pod that was looked at, and only our gate: it may have been made anew meanwhile.
  const Json operations = Json::parse(server_.requests().front().body);
  EXPECT_EQ(operations[0], (Json{{"op", "test"}, {"path", "/metadata/uid"}, {"value", "uid-m-0"}}));
  EXPECT_EQ(operations[1]["op"], "test");
  EXPECT_EQ(operations[1]["value"], render::kGangGate);
}

TEST_F(GateKeeperTest, LiftsAGateOnceThoughTheCacheStillShowsIt) {
  hold("m", 2);
  ASSERT_TRUE(reconcile().has_value());
  ASSERT_TRUE(reconcile().has_value());
  EXPECT_EQ(writes().size(), 2U);
}

TEST_F(GateKeeperTest, ToldWhyAGroupWaitsAnOwnerIsToldAgainOnlyOfSomethingNew) {
  hold("m", 3);
  ASSERT_TRUE(reconcile().has_value());
  ASSERT_TRUE(reconcile().has_value());
  EXPECT_EQ(writes(), Writes{});
  EXPECT_EQ(told_, (std::vector<client::ObjectRef>{{"llm", "m"}}));
  const auto waiting = board_->of({"llm", "m"});
  ASSERT_TRUE(waiting.has_value());
  EXPECT_NE(waiting->why.find("8 GPUs are missing"), std::string::npos) << waiting->why;
}

TEST_F(GateKeeperTest, APodThatIsGoneMeanwhileIsNoFailure) {
  codes_ = {{"m-0", 404}, {"m-0-1", 409}};
  hold("m", 2);
  EXPECT_TRUE(reconcile().has_value());
}

TEST_F(GateKeeperTest, OneGroupsFailureHoldsUpNoOther) {
  codes_ = {{"a-0", 403}};
  hold("a", 1);
  hold("b", 1);
  const auto outcome = reconcile();
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().kind, ReconcileError::Kind::kRetry);
  EXPECT_NE(outcome.error().message.find("a-0"), std::string::npos) << outcome.error().message;
  EXPECT_EQ(writes(), (Writes{"PATCH a-0", "PATCH b-0"}));
}

TEST_F(GateKeeperTest, MakesASplitGroupAnewByItsLeaderOnce) {
  Json leader = member_pod("m", 0, 0, 2);
  leader["spec"].erase("schedulingGates");
  leader["spec"]["nodeName"] = "a";
  Json worker = member_pod("m", 0, 1, 2);
  worker["spec"].erase("schedulingGates");
  worker["status"]["conditions"] = {{{"type", "PodScheduled"}, {"status", "False"}, {"reason", "Unschedulable"}}};
  (void)gated_.apply(leader);
  (void)gated_.apply(worker);
  const auto patience = reconcile();
  ASSERT_TRUE(patience.has_value());
  EXPECT_EQ(patience->delay(), Duration(kRefusalPatience));
  EXPECT_EQ(writes(), Writes{});
  clock_.advance(kRefusalPatience);
  ASSERT_TRUE(reconcile().has_value());
  ASSERT_TRUE(reconcile().has_value());
  EXPECT_EQ(writes(), (Writes{"DELETE m-0"}));
}

TEST(ChangesRoom, OnlyWhenAPodIsBoundEndsOrGoes) {
  const client::ObjectRef kPod{"llm", "p"};
  const auto object = [](const Json& json) { return std::make_shared<const Json>(json); };
  const Object pending = object(plain_pod("p", 1));
  const Object bound = object(plain_pod("p", 1, "a"));
  Json ended_json = plain_pod("p", 1, "a");
  ended_json["status"]["phase"] = "Succeeded";
  const Object ended = object(ended_json);
  EXPECT_FALSE(changes_room({kPod, nullptr, pending}));
  EXPECT_TRUE(changes_room({kPod, pending, bound}));
  EXPECT_FALSE(changes_room({kPod, bound, bound}));
  EXPECT_TRUE(changes_room({kPod, bound, ended}));
  EXPECT_FALSE(changes_room({kPod, ended, nullptr}));
  EXPECT_TRUE(changes_room({kPod, bound, nullptr}));
}

}  // namespace
}  // namespace inference::reconcilers::gates
