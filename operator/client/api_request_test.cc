#include "operator/client/api_request.h"

#include <gtest/gtest.h>

namespace inference::client {
namespace {

using namespace resources;
using Replay = HttpRequest::Replay;

const Json kWeb = {
    {"apiVersion", "apps/v1"}, {"kind", "Deployment"}, {"metadata", {{"name", "web"}, {"namespace", "ns"}}}};

TEST(ApiRequest, Gets) {
  const auto request = make_get(kDeployment, {"ns", "web"});
  ASSERT_TRUE(request);
  EXPECT_EQ(request->verb, "get");
  EXPECT_EQ(request->http.method, "GET");
  EXPECT_EQ(request->http.target, "/apis/apps/v1/namespaces/ns/deployments/web");
  EXPECT_EQ(request->http.replay, Replay::kIfHarmless);
  EXPECT_FALSE(make_get(kDeployment, {"ns", ""})) << "a get of a collection would be a list";
}

TEST(ApiRequest, ListsInPages) {
  const auto first =
      make_list(kPod, {.ns = "ns", .label_selector = "a=b,c in (d)", .limit = 10, .resource_version = "0"});
  ASSERT_TRUE(first);
  EXPECT_EQ(first->http.target,
            "/api/v1/namespaces/ns/pods?labelSelector=a%3Db%2Cc%20in%20%28d%29&limit=10&resourceVersion=0");
  const auto next = make_list(kPod, {.continue_token = "abc+/=", .resource_version = "0"});
  ASSERT_TRUE(next);
  EXPECT_EQ(next->http.target, "/api/v1/pods?limit=500&continue=abc%2B%2F%3D");
  EXPECT_EQ(make_list(kPod, {.limit = 0})->http.target, "/api/v1/pods");
}

TEST(ApiRequest, Watches) {
  const auto plain = make_watch(kNode, {.resource_version = "42", .timeout = std::chrono::seconds{7}});
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->verb, "watch");
  EXPECT_EQ(plain->http.use, HttpRequest::Use::kStream);
  EXPECT_EQ(plain->http.target,
            "/api/v1/nodes?watch=true&resourceVersion=42&timeoutSeconds=7&allowWatchBookmarks=true");
  const auto streaming = make_watch(kNode, {.bookmarks = false, .send_initial_events = true});
  EXPECT_EQ(streaming->http.target,
            "/api/v1/"
            "nodes?watch=true&timeoutSeconds=300&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch="
            "NotOlderThan");
}

TEST(ApiRequest, CreatesAndIsNeverReplayed) {
  const auto request = make_create(kDeployment, kWeb, {.dry_run = DryRun::kAll});
  ASSERT_TRUE(request);
  EXPECT_EQ(request->http.method, "POST");
  EXPECT_EQ(
      request->http.target,
      "/apis/apps/v1/namespaces/ns/deployments?dryRun=All&fieldManager=inference-operator&fieldValidation=Strict");
  EXPECT_EQ(request->http.replay, Replay::kIfUndelivered);
  EXPECT_EQ(Json::parse(request->http.body), kWeb);
}

TEST(ApiRequest, Applies) {
  const auto request = make_apply(kDeployment, kWeb, {.force = Force::kYes});
  ASSERT_TRUE(request);
  EXPECT_EQ(request->verb, "patch");
  EXPECT_EQ(request->http.method, "PATCH");
  EXPECT_EQ(
      request->http.target,
      "/apis/apps/v1/namespaces/ns/deployments/web?fieldManager=inference-operator&fieldValidation=Strict&force=true");
  EXPECT_EQ(request->http.headers, (Headers{{"Content-Type", "application/apply-patch+yaml"}}));
  EXPECT_EQ(make_apply(kDeployment, kWeb, {.field_manager = "other"})->http.target,
            "/apis/apps/v1/namespaces/ns/deployments/web?fieldManager=other&fieldValidation=Strict");
}

TEST(ApiRequest, WritesTheStatusOfOneIncarnation) {
  const auto request = make_write_status(kDeployment, {"ns", "web"}, "u1", {{"replicas", 1}});
  ASSERT_TRUE(request);
  EXPECT_EQ(request->verb, "patch");
  EXPECT_EQ(
      request->http.target,
      "/apis/apps/v1/namespaces/ns/deployments/web/status?fieldManager=inference-operator&fieldValidation=Strict");
  EXPECT_EQ(request->http.headers, (Headers{{"Content-Type", "application/json-patch+json"}}));
  EXPECT_EQ(Json::parse(request->http.body), Json::parse(R"([
    {"op": "test", "path": "/metadata/uid", "value": "u1"},
    {"op": "add", "path": "/status", "value": {"replicas": 1}}])"));
  EXPECT_EQ(request->http.replay, Replay::kIfHarmless);
}

TEST(ApiRequest, RefusesObjectsThatAreNotWhatTheyAreSentAs) {
  EXPECT_FALSE(make_apply(kService, kWeb, {}));
  EXPECT_FALSE(make_apply(kDeployment, Json::array(), {}));
  EXPECT_FALSE(make_apply(kDeployment, {{"apiVersion", "apps/v1"}, {"kind", "Deployment"}}, {}));
  Json nameless = kWeb;
  nameless["metadata"].erase("name");
  EXPECT_FALSE(make_apply(kDeployment, nameless, {}));
  Json homeless = kWeb;
  homeless["metadata"].erase("namespace");
  EXPECT_FALSE(make_apply(kDeployment, homeless, {}));
  EXPECT_FALSE(make_create(kDeployment, homeless, {}));
  Json garbled = kWeb;
  garbled["metadata"]["labels"]["x"] = "\xFF";
  const auto refused = make_apply(kDeployment, garbled, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ApiError::Kind::kBadRequest);
}

TEST(ApiRequest, RemovesWithPreconditions) {
  const auto request = make_remove(kDeployment, {"ns", "web"},
                                   {.uid = "u", .resource_version = "7", .propagation = Propagation::kForeground});
  ASSERT_TRUE(request);
  EXPECT_EQ(request->http.method, "DELETE");
  EXPECT_EQ(request->http.target, "/apis/apps/v1/namespaces/ns/deployments/web");
  EXPECT_EQ(Json::parse(request->http.body),
            Json::parse(R"({"apiVersion":"v1","kind":"DeleteOptions","propagationPolicy":"Foreground",
                                                            "preconditions":{"uid":"u","resourceVersion":"7"}})"));
  EXPECT_EQ(request->http.replay, Replay::kIfHarmless);
  EXPECT_EQ(make_remove(kDeployment, {"ns", "web"}, {})->http.replay, Replay::kIfUndelivered)
      << "it could hit a new object of that name";
  EXPECT_FALSE(make_remove(kDeployment, {"ns", ""}, {})) << "that would delete the whole collection";
}

TEST(ApiRequest, PatchesByOperationsThatAreNotRepeatedOnceDelivered) {
  const Json operations = {{{"op", "test"}, {"path", "/a"}, {"value", 1}}, {{"op", "remove"}, {"path", "/a"}}};
  const auto request = make_json_patch(resources::kPod, {"llm", "p"}, operations);
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->verb, "patch");
  EXPECT_EQ(request->http.method, "PATCH");
  EXPECT_EQ(request->http.target,
            "/api/v1/namespaces/llm/pods/p?fieldManager=inference-operator&fieldValidation=Strict");
  EXPECT_EQ(request->http.headers, (Headers{{"Content-Type", "application/json-patch+json"}}));
  EXPECT_EQ(Json::parse(request->http.body), operations);
  EXPECT_EQ(request->http.replay, HttpRequest::Replay::kIfUndelivered);
  EXPECT_FALSE(make_json_patch(resources::kPod, {"llm", ""}, operations).has_value());
}

TEST(ApiRequest, GetsRawPathsThatCanStandInARequestLine) {
  EXPECT_EQ(make_get_raw("/apis/apps/v1?x=y")->http.target, "/apis/apps/v1?x=y");
  for (const char* path : {"", "version", "/a b", "/a\r\nEvil: 1", "/\xC3\xA9"})
    EXPECT_FALSE(make_get_raw(path)) << path;
}

}  // namespace
}  // namespace inference::client
