#include "reconcilers/apply.h"

#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "operator/client/testing/fake_http_server.h"
#include "reconcilers/children.h"

namespace inference::reconcilers {
namespace {

using client::FakeAnswer;

Json owner() {
  return {{"metadata", {{"name", "m"}, {"namespace", "llm"}, {"uid", "u-1"}}}};
}

Json service(const Json& of) {
  return as_child({{"apiVersion", "v1"},
                   {"kind", "Service"},
                   {"metadata", {{"name", "m-serve"}, {"namespace", "llm"}}},
                   {"spec", {{"ports", Json::array()}}}},
                  of);
}

Write first_write() {
  return {client::resources::kService, service(owner()), false, "absent"};
}

std::string status(int code, const char* reason) {
  return Json{{"kind", "Status"}, {"code", code}, {"reason", reason}, {"message", reason}}.dump();
}

/// Carries out `plan` against a server that gives these answers in turn.
class ApplyTest : public testing::Test {
 protected:
  Applied carry_out(const Plan& plan, std::vector<FakeAnswer> answers) {
    server_ = std::make_unique<client::FakeHttpServer>(client::in_turn(std::move(answers)));
    client::ClientConfig config;
    config.server = server_->url();
    auto api = client::ApiClient::make(config, clock_);
    EXPECT_TRUE(api.has_value()) << api.error().message;
    return apply(**api, plan, "u-1", "r-1", {});
  }
  [[nodiscard]] std::vector<std::string> calls() const {
    std::vector<std::string> all;
    for (const auto& request : server_->requests())
      all.push_back(request.method + (request.target.find("force=true") == std::string::npos ? "" : " with force"));
    return all;
  }

  FakeClock clock_;
  std::unique_ptr<client::FakeHttpServer> server_;
};

TEST_F(ApplyTest, LooksBeforeItCreatesAndCreatesWithoutForce) {
  Plan plan;
  plan.writes = {first_write()};
  const Applied applied = carry_out(plan, {{404, status(404, "NotFound")}, {201, service(owner()).dump()}});
  EXPECT_TRUE(applied.failures.empty());
  EXPECT_EQ(calls(), (std::vector<std::string>{"GET", "PATCH"}));
}

TEST_F(ApplyTest, LeavesAStrangersObjectAlone) {
  Plan plan;
  plan.writes = {first_write()};
  const Applied applied = carry_out(
      plan,
      {{200,
        R"({"kind": "Service", "metadata": {"name": "m-serve", "ownerReferences": [{"kind": "Foo", "name": "x", "uid": "u-9", "controller": true}]}})"}});
  ASSERT_EQ(applied.failures.size(), 1U);
  EXPECT_EQ(applied.failures[0].kind, ApplyFailure::Kind::kForeign);
  EXPECT_EQ(applied.failures[0].object, "Service llm/m-serve");
  EXPECT_EQ(applied.failures[0].message, "Foo x controls it");
  EXPECT_EQ(calls(), std::vector<std::string>{"GET"});
}

TEST_F(ApplyTest, WritesNothingWhenOnlyTheCacheIsBehind) {
  Plan plan;
  plan.writes = {first_write()};
  testing::internal::CaptureStderr();
  const Applied applied = carry_out(plan, {{200, service(owner()).dump()}});
  EXPECT_EQ(testing::internal::GetCapturedStderr().find("applied child"), std::string::npos);
  EXPECT_TRUE(applied.failures.empty());
  EXPECT_EQ(applied.written.size(), 1U);
  EXPECT_EQ(calls(), std::vector<std::string>{"GET"});
}

TEST_F(ApplyTest, TakesBackWithForceWhatIsKnownToBeOurs) {
  Plan plan;
  plan.writes = {{client::resources::kService, service(owner()), true, "changed at spec"}};
  EXPECT_TRUE(carry_out(plan, {{200, service(owner()).dump()}}).failures.empty());
  EXPECT_EQ(calls(), std::vector<std::string>{"PATCH with force"});
}

Plan recreation() {
  Plan plan;
  plan.writes = {first_write()};
  plan.writes[0].cached = true;
  plan.writes[0].recreation = Recreation{"u-3", "spec.x"};
  return plan;
}

TEST_F(ApplyTest, WhatMustBeMadeAnewIsDeletedAndWrittenOnlyOnceItIsGone) {
  Json going = service(owner());
  going["metadata"]["deletionTimestamp"] = "2026-11-30T12:00:00Z";
  Applied applied = carry_out(recreation(), {{200, going.dump()}, {200, going.dump()}});
  EXPECT_EQ(calls(), (std::vector<std::string>{"DELETE", "GET"}));
  const Json options = Json::parse(server_->requests()[0].body);
  EXPECT_EQ(options["propagationPolicy"], "Foreground");
  EXPECT_EQ(options["preconditions"]["uid"], "u-3");
  ASSERT_EQ(applied.recreated.size(), 1U);
  EXPECT_EQ(applied.recreated[0].object, "Service llm/m-serve");
  EXPECT_EQ(applied.recreated[0].why, "spec.x");
  ASSERT_EQ(applied.written.size(), 1U) << "the next look is not to take it for what is wanted";
  EXPECT_TRUE((*applied.written[0].object)["metadata"].contains("deletionTimestamp"));

  applied = carry_out(recreation(), {{404, status(404, "NotFound")},
                                     {404, status(404, "NotFound")},
                                     {404, status(404, "NotFound")},
                                     {201, service(owner()).dump()}});
  EXPECT_EQ(calls(), (std::vector<std::string>{"DELETE", "GET", "GET", "PATCH"}));
  EXPECT_TRUE(applied.failures.empty());
}

TEST_F(ApplyTest, WhatCanNotBeDeletedIsNotWrittenOver) {
  const Applied applied = carry_out(recreation(), {{403, status(403, "Forbidden")}});
  EXPECT_EQ(calls(), std::vector<std::string>{"DELETE"});
  EXPECT_TRUE(applied.recreated.empty());
  ASSERT_EQ(applied.failures.size(), 1U);
  EXPECT_EQ(applied.failures[0].kind, ApplyFailure::Kind::kForbidden);
}

TEST_F(ApplyTest, ARefusedObjectKeepsNoOtherFromBeingWrittenButNothingIsRemoved) {
  Plan plan;
  plan.writes = {{client::resources::kService, service(owner()), true, "x"},
                 {client::resources::kService, service(owner()), true, "x"}};
  plan.removals = {{client::resources::kDeployment, {"llm", "m"}, "u-2"}};
  const Applied applied = carry_out(plan, {{422, status(422, "Invalid")}, {200, service(owner()).dump()}});
  ASSERT_EQ(applied.failures.size(), 1U);
  EXPECT_EQ(applied.failures[0].kind, ApplyFailure::Kind::kInvalid);
  EXPECT_EQ(calls().size(), 2U);
}

Write workload(const char* kind) {
  const bool lws = std::string_view(kind) == "LeaderWorkerSet";
  return {lws ? client::resources::kLeaderWorkerSet : client::resources::kDeployment,
          as_child({{"apiVersion", lws ? "leaderworkerset.x-k8s.io/v1" : "apps/v1"},
                    {"kind", kind},
                    {"metadata", {{"name", "m"}, {"namespace", "llm"}}}},
                   owner()),
          false, "absent"};
}

TEST_F(ApplyTest, MakesNoPodsWhenWhatTheyMountCouldNotBeWritten) {
  Plan plan;
  Write config = first_write();
  config.resource = client::resources::kConfigMap;
  config.object["kind"] = "ConfigMap";
  plan.writes = {config, first_write(), workload("Deployment")};
  const std::string strangers = R"({"kind": "ConfigMap", "metadata": {"name": "m-serve", "namespace": "llm"}})";
  const Applied applied =
      carry_out(plan, {{200, strangers}, {404, status(404, "NotFound")}, {201, service(owner()).dump()}});
  ASSERT_EQ(applied.failures.size(), 1U);
  EXPECT_EQ(applied.failures[0].object, "ConfigMap llm/m-serve");
  EXPECT_EQ(calls(), (std::vector<std::string>{"GET", "GET", "PATCH"}));
  EXPECT_EQ(applied.workload(), nullptr);
}

TEST_F(ApplyTest, LeavesAGroupUnmadeWhoseHeadlessServiceWouldBeAStrangers) {
  Plan plan;
  plan.writes = {workload("LeaderWorkerSet")};
  const Applied applied = carry_out(
      plan,
      {{404, status(404, "NotFound")}, {200, R"({"kind": "Service", "metadata": {"name": "m", "namespace": "llm"}})"}});
  ASSERT_EQ(applied.failures.size(), 1U);
  EXPECT_EQ(applied.failures[0].kind, ApplyFailure::Kind::kForeign);
  EXPECT_EQ(applied.failures[0].object, "Service llm/m");
  EXPECT_EQ(calls(), (std::vector<std::string>{"GET", "GET"}));
}

TEST_F(ApplyTest, TakesTheHeadlessServiceOfAnEarlierGroupForNoStranger) {
  Plan plan;
  plan.writes = {workload("LeaderWorkerSet")};
  const Applied applied = carry_out(
      plan,
      {{404, status(404, "NotFound")},
       {200,
        R"({"kind": "Service", "metadata": {"name": "m", "namespace": "llm", "ownerReferences": [{"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "name": "m", "uid": "u-7"}]}})"},
       {201, workload("LeaderWorkerSet").object.dump()}});
  EXPECT_TRUE(applied.failures.empty());
  ASSERT_NE(applied.workload(), nullptr);
}

TEST_F(ApplyTest, ABrokenServerEndsItAtOnce) {
  Plan plan;
  plan.writes = {{client::resources::kService, service(owner()), true, "x"},
                 {client::resources::kService, service(owner()), true, "x"}};
  const Applied applied = carry_out(plan, {{500, status(500, "InternalError")}});
  ASSERT_EQ(applied.failures.size(), 1U);
  EXPECT_EQ(applied.failures[0].kind, ApplyFailure::Kind::kTransient);
  EXPECT_EQ(calls().size(), 1U);
}

TEST_F(ApplyTest, TakesAConflictForSomethingToLookAtAgain) {
  Plan plan;
  plan.writes = {first_write()};
  const Applied applied = carry_out(plan, {{404, status(404, "NotFound")}, {409, status(409, "Conflict")}});
  ASSERT_EQ(applied.failures.size(), 1U);
  EXPECT_EQ(applied.failures[0].kind, ApplyFailure::Kind::kTransient);
}

TEST_F(ApplyTest, CarriesTheTimeThatABusyServerNames) {
  Plan plan;
  plan.writes = {{client::resources::kService, service(owner()), true, "x"}};
  const Applied applied =
      carry_out(plan, {{503, R"({"kind": "Status", "code": 503, "details": {"retryAfterSeconds": 60}})"}});
  ASSERT_EQ(applied.failures.size(), 1U);
  EXPECT_EQ(applied.failures[0].retry_after, std::chrono::seconds{60});
}

TEST_F(ApplyTest, RemovesByUidAndTakesGoneForDone) {
  Plan plan;
  plan.removals = {{client::resources::kDeployment, {"llm", "m"}, "u-2"},
                   {client::resources::kDeployment, {"llm", "n"}, "u-3"}};
  const Applied applied =
      carry_out(plan, {{200, R"({"kind": "Status", "status": "Success"})"}, {404, status(404, "NotFound")}});
  EXPECT_TRUE(applied.failures.empty());
  EXPECT_EQ(applied.removed.size(), 2U);
  EXPECT_NE(server_->requests()[0].body.find("u-2"), std::string::npos);
}

}  // namespace
}  // namespace inference::reconcilers
