#include "reconcilers/inference_deployment_reconciler.h"

#include <gtest/gtest.h>

#include <atomic>

#include "base/fake_clock.h"
#include "crd/conditions.h"
#include "operator/client/testing/fake_http_server.h"
#include "reconcilers/children.h"
#include "render/template_set.h"

namespace inference::reconcilers {
namespace {

using runtime::ReconcileError;
using runtime::Result;
using std::chrono::seconds;

constexpr int kAccept = 200;

Json model(const Json& spec = Json::object()) {
  Json full = {{"model", {{"uri", "file:///models/m"}}}, {"parallelism", {{"tensor", 8}}}, {"replicas", 2}};
  full.update(spec);
  return {{"apiVersion", crd::kApiVersion},
          {"kind", crd::kInferenceDeploymentKind},
          {"metadata", {{"name", "m"}, {"namespace", "llm"}, {"uid", "u-1"}, {"generation", 1}}},
          {"spec", full}};
}

/// The reconciler with caches that the test fills and a server that accepts every write, or gives each child's this
/// code.
class ReconcilerTest : public testing::Test {
 protected:
  void SetUp() override {
    Caches caches{deployments_.lister(), profiles_.lister(), {}, pods_.lister()};
    for (const auto& kind : child_kinds()) {
      children_.push_back(std::make_unique<runtime::StoreWriter>(std::vector{runtime::index_by_owner_uid()}));
      caches.children.emplace_back(kind, children_.back()->lister());
    }
    client::ClientConfig config;
    config.server = server_.url();
    api_ = std::move(client::ApiClient::make(config, clock_).value());
    reconciler_ = std::make_unique<InferenceDeploymentReconciler>(
        std::move(caches), *api_, recorder_, metrics_, render::TemplateSet::embedded(), clock_, "inference-system");
  }

  void answer(client::FakeConnection& connection, const client::FakeRequest& request) {
    const Json body = Json::parse(request.body, nullptr, /*allow_exceptions=*/false);
    if (request.method != "PATCH") return connection.respond(404, R"({"kind": "Status", "code": 404})");
    if (body.is_array()) return connection.respond(200, model().dump());  // the status
    const int code = answer_to_children_;
    if (code == kAccept) return connection.respond(200, request.body);
    connection.respond(code, Json{{"kind", "Status"}, {"code", code}, {"message", "no"}}.dump());
  }

  std::expected<Result, ReconcileError> reconcile() { return reconciler_->reconcile({kRef, "r"}, {}); }
  /// The status that was written last, shown to the reconciler by the cache as well; null when none was since `before`.
  Json told_since(std::size_t before) {
    Json status;
    const auto requests = server_.requests();
    for (std::size_t index = before; index < requests.size(); ++index) {
      if (requests[index].method == "PATCH" && requests[index].target.find("/status") != std::string::npos)
        status = Json::parse(requests[index].body)[1]["value"];
    }
    if (status.is_null()) return status;
    Json object = *deployments_.lister().get(kRef);
    object["status"] = status;
    (void)deployments_.apply(object);
    return status;
  }
  Json told() { return told_since(0); }
  static std::string stalled(const Json& status) {
    const auto conditions = crd::Conditions::from_json(status.value("conditions", Json::array()));
    const crd::Condition* found = conditions.find("Stalled");
    return found == nullptr ? "" : found->reason;
  }
  static std::optional<Duration> retry_of(const std::expected<Result, ReconcileError>& outcome) {
    EXPECT_FALSE(outcome.has_value());
    if (outcome.has_value()) return std::nullopt;
    EXPECT_EQ(outcome.error().kind, ReconcileError::Kind::kRetry);
    return outcome.error().retry_after;
  }
  static std::optional<Duration> delay_of(const std::expected<Result, ReconcileError>& outcome) {
    EXPECT_TRUE(outcome.has_value()) << outcome.error().message;
    return outcome.has_value() ? outcome->delay() : std::nullopt;
  }

  const client::ObjectRef kRef{"llm", "m"};
  std::atomic<int> answer_to_children_ = kAccept;
  FakeClock clock_;
  SeededRandom random_{1};
  runtime::Metrics metrics_;
  runtime::Recorder recorder_{{.instance = "test"},
                              [](const Json&, std::stop_token) -> std::expected<void, client::ApiError> { return {}; },
                              metrics_,
                              clock_,
                              random_};
  runtime::StoreWriter deployments_, profiles_, pods_{{index_pods()}};
  std::vector<std::unique_ptr<runtime::StoreWriter>> children_;
  client::FakeHttpServer server_{
      [this](client::FakeConnection& connection, const client::FakeRequest& request) { answer(connection, request); }};
  std::unique_ptr<client::ApiClient> api_;
  std::unique_ptr<InferenceDeploymentReconciler> reconciler_;
};

TEST_F(ReconcilerTest, WritesTheChildrenThenStatusAndAwaitsAChange) {
  (void)deployments_.apply(model());
  EXPECT_EQ(delay_of(reconcile()), std::nullopt);
  EXPECT_EQ(told()["observedGeneration"], 1);
  EXPECT_NE(server_.requests().back().target.find("/status"), std::string::npos);
}

TEST_F(ReconcilerTest, AwaitsAChangeOfAnObjectThatIsGone) {
  EXPECT_EQ(delay_of(reconcile()), std::nullopt);
  EXPECT_TRUE(server_.requests().empty());
}

TEST_F(ReconcilerTest, ARefusedSpecAwaitsItsChangeAndOnlyStatusIsWritten) {
  (void)deployments_.apply(model({{"model", {{"uri", "hf://org/model"}}}}));
  EXPECT_EQ(delay_of(reconcile()), std::nullopt);
  EXPECT_EQ(stalled(told()), "NotSupported");
  EXPECT_EQ(server_.requests().size(), 1U);
}

TEST_F(ReconcilerTest, WhatTheClusterLacksIsLookedForAgain) {
  (void)deployments_.apply(model({{"nodes", 2}}));
  EXPECT_EQ(delay_of(reconcile()), seconds{15});
  EXPECT_EQ(stalled(told()), "ClusterLacksLeaderWorkerSet");
}

TEST_F(ReconcilerTest, AMissingRightIsToldAndAskedForSeldomOnlyOnceItLasts) {
  (void)deployments_.apply(model());
  answer_to_children_ = 403;
  EXPECT_EQ(retry_of(reconcile()), std::nullopt) << "the key's own back-off";
  EXPECT_EQ(stalled(told()), "");
  clock_.advance(seconds{9});
  EXPECT_EQ(retry_of(reconcile()), std::nullopt);
  EXPECT_EQ(stalled(told()), "");
  clock_.advance(seconds{1});
  EXPECT_EQ(retry_of(reconcile()), seconds{60});
  EXPECT_EQ(stalled(told()), "Forbidden");
  answer_to_children_ = kAccept;
  EXPECT_EQ(delay_of(reconcile()), std::nullopt);
  EXPECT_EQ(stalled(told()), "");
}

TEST_F(ReconcilerTest, AMissingRightThatIsToldAlreadyIsNotTakenBackByARestart) {
  Json object = model();
  object["status"]["conditions"] = {{{"type", "Stalled"},
                                     {"status", "True"},
                                     {"reason", "Forbidden"},
                                     {"message", "no"},
                                     {"lastTransitionTime", "2026-11-30T12:00:00Z"}}};
  (void)deployments_.apply(object);
  answer_to_children_ = 403;
  EXPECT_EQ(retry_of(reconcile()), seconds{60});
  EXPECT_EQ(stalled(told()), "Forbidden");
}

TEST_F(ReconcilerTest, AChildThatTheServerRefusesAwaitsAChange) {
  (void)deployments_.apply(model());
  answer_to_children_ = 422;
  const auto outcome = reconcile();
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().kind, ReconcileError::Kind::kTerminal);
  EXPECT_EQ(stalled(told()), "Invalid");
}

TEST_F(ReconcilerTest, CountsAloneAreToldOnceASecond) {
  (void)deployments_.apply(model());
  ASSERT_EQ(delay_of(reconcile()), std::nullopt);
  (void)told();
  // The caches come to show the children, and each look after that another count of pods.
  std::map<std::string, Json> written;
  for (const auto& request : server_.requests()) {
    const Json body = Json::parse(request.body, nullptr, /*allow_exceptions=*/false);
    if (body.is_object()) written[body["kind"]] = body;
  }
  const auto show = [&](int replicas) {
    Json deployment = written.at("Deployment");
    deployment["status"]["replicas"] = replicas;
    for (std::size_t index = 0; index < children_.size(); ++index) {
      const std::string kind = child_kinds()[index].kind;
      if (written.contains(kind)) (void)children_[index]->apply(kind == "Deployment" ? deployment : written.at(kind));
    }
  };
  show(1);
  const std::size_t before = server_.requests().size();
  const std::optional<Duration> pause = delay_of(reconcile());
  ASSERT_TRUE(pause);
  EXPECT_EQ(*pause, seconds{1});
  EXPECT_TRUE(told_since(before).is_null());
  clock_.advance(*pause);
  EXPECT_EQ(delay_of(reconcile()), std::nullopt);
  EXPECT_EQ(told_since(before)["replicas"], 1);
}

}  // namespace
}  // namespace inference::reconcilers
