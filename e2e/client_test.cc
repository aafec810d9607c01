// The client against a real API server: what a scripted server can't show, since it knows nothing of Kubernetes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>
#include <vector>

#include "operator/client/api_client.h"

namespace inference::client {
namespace {

using namespace std::chrono_literals;
using namespace resources;

class ClientTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* kubeconfig = std::getenv("INFERENCE_TEST_KUBECONFIG");
    ASSERT_NE(kubeconfig, nullptr)
        << "INFERENCE_TEST_KUBECONFIG is not set: ./dev test starts a control plane and sets it";
    const auto config = load_config({.kubeconfig = kubeconfig});
    ASSERT_TRUE(config) << config.error().message;
    auto client = ApiClient::make(*config, clock_);
    ASSERT_TRUE(client) << client.error().message;
    client_ = std::move(*client);
    // A namespace of its own for each test, so that they can run twice, and beside others.
    const Json ns = {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", ns_}}}};
    const auto created = client_->create(kNamespace, ns, {}, {});
    ASSERT_TRUE(created) << created.error().to_string();
  }
  void TearDown() override {
    if (client_ == nullptr) return;
    EXPECT_TRUE(client_->remove(kNamespace, {"", ns_}, {}, {}));
  }

  Json config_map(const std::string& name, const std::string& value) const {
    return {{"apiVersion", "v1"},
            {"kind", "ConfigMap"},
            {"metadata", {{"name", name}, {"namespace", ns_}, {"labels", {{"client-test", "yes"}}}}},
            {"data", {{"key", value}}}};
  }
  std::expected<Json, ApiError> apply(const std::string& name, const std::string& value,
                                      const ApplyOptions& options = {}) {
    return client_->apply(kConfigMap, config_map(name, value), options, {});
  }

  static inline int count_ = 0;
  const std::string ns_ = "client-test-" + std::to_string(::getpid()) + "-" + std::to_string(++count_);
  SystemClock clock_;
  std::unique_ptr<ApiClient> client_;
};

TEST_F(ClientTest, ReadsWhatTheServerIs) {
  const auto version = client_->get_raw("/version", {});
  ASSERT_TRUE(version) << version.error().to_string();
  EXPECT_TRUE((*version)["gitVersion"].get<std::string>().starts_with("v1."));
  EXPECT_TRUE(client_->get_raw("/apis/apps/v1", {}));
  EXPECT_TRUE(client_->get_raw("/apis/none.example/v1", {}).error().is_not_found());
}

TEST_F(ClientTest, AppliesAndGets) {
  const auto applied = apply("one", "a");
  ASSERT_TRUE(applied) << applied.error().to_string();
  const auto read = client_->get(kConfigMap, {ns_, "one"}, {});
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_EQ((*read)["data"]["key"], "a");
  EXPECT_EQ((*read)["metadata"]["managedFields"][0]["manager"], "inference-operator");
  EXPECT_EQ((*read)["metadata"]["managedFields"][0]["operation"], "Apply");
  const auto again = apply("one", "a");
  EXPECT_EQ((*again)["metadata"]["resourceVersion"], (*read)["metadata"]["resourceVersion"])
      << "applying the same changes nothing";
  const auto missing = client_->get(kConfigMap, {ns_, "two"}, {});
  ASSERT_FALSE(missing);
  EXPECT_TRUE(missing.error().is_not_found());
  EXPECT_EQ(missing.error().reason, "NotFound");
}

TEST_F(ClientTest, ReportsConflictsAndTakesOverWhenForced) {
  ASSERT_TRUE(apply("one", "ours"));
  const auto conflict = apply("one", "theirs", {.field_manager = "someone-else"});
  ASSERT_FALSE(conflict);
  EXPECT_TRUE(conflict.error().is_conflict());
  EXPECT_EQ(conflict.error().details["causes"][0]["field"], ".data.key");
  const auto forced = apply("one", "theirs", {.force = Force::kYes, .field_manager = "someone-else"});
  ASSERT_TRUE(forced) << forced.error().to_string();
  EXPECT_EQ((*forced)["data"]["key"], "theirs");
}

TEST_F(ClientTest, RefusesUnknownFieldsAndInvalidObjects) {
  Json unknown = config_map("one", "a");
  unknown["unknown"] = 1;
  const auto strict = client_->apply(kConfigMap, unknown, {}, {});
  ASSERT_FALSE(strict);
  EXPECT_GE(strict.error().code, 400);
  EXPECT_NE(strict.error().message.find("unknown"), std::string::npos) << strict.error().message;
  const auto invalid = client_->create(kConfigMap, config_map("Not_A_Name", "a"), {}, {});
  ASSERT_FALSE(invalid);
  EXPECT_TRUE(invalid.error().is_invalid()) << invalid.error().to_string();
}

TEST_F(ClientTest, CreatesOnceAndTriesWithoutCreating) {
  ASSERT_TRUE(client_->create(kConfigMap, config_map("one", "a"), {.dry_run = DryRun::kAll}, {}));
  EXPECT_TRUE(client_->get(kConfigMap, {ns_, "one"}, {}).error().is_not_found());
  ASSERT_TRUE(client_->create(kConfigMap, config_map("one", "a"), {}, {}));
  const auto again = client_->create(kConfigMap, config_map("one", "a"), {}, {});
  ASSERT_FALSE(again);
  EXPECT_TRUE(again.error().is_already_exists());
  EXPECT_FALSE(again.error().is_conflict());
}

TEST_F(ClientTest, ListsInPages) {
  for (int number = 0; number < 7; ++number) ASSERT_TRUE(apply("map-" + std::to_string(number), "x"));
  ListOptions options{.ns = ns_, .label_selector = "client-test=yes", .limit = 3};
  std::vector<std::string> names;
  int pages = 0;
  do {
    const auto page = client_->list(kConfigMap, options, {});
    ASSERT_TRUE(page) << page.error().to_string();
    for (const Json& item : page->items) {
      EXPECT_EQ(item["kind"], "ConfigMap");
      EXPECT_EQ(item["apiVersion"], "v1");
      names.push_back(item["metadata"]["name"]);
    }
    EXPECT_FALSE(page->resource_version.empty());
    options.continue_token = page->continue_token;
    ++pages;
  } while (!options.continue_token.empty());
  EXPECT_EQ(pages, 3);
  EXPECT_EQ(names, (std::vector<std::string>{"map-0", "map-1", "map-2", "map-3", "map-4", "map-5", "map-6"}));
  const auto bad_token = client_->list(kConfigMap, {.ns = ns_, .continue_token = "garbage"}, {});
  ASSERT_FALSE(bad_token);
  EXPECT_GE(bad_token.error().code, 400);
}

TEST_F(ClientTest, WatchesFromAResourceVersionOn) {
  ASSERT_TRUE(apply("before", "x"));
  const auto page = client_->list(kConfigMap, {.ns = ns_, .label_selector = "client-test=yes"}, {});
  ASSERT_TRUE(page);
  std::string log;
  std::stop_source stop;
  std::expected<WatchEnd, ApiError> end = WatchEnd{};
  std::jthread watcher([&] {
    end = client_->watch(
        kConfigMap, {.ns = ns_, .label_selector = "client-test=yes", .resource_version = page->resource_version},
        [&](const WatchEvent& event) {
          if (std::holds_alternative<Added>(event)) log += "added;";
          if (std::holds_alternative<Modified>(event)) log += "modified;";
          if (std::holds_alternative<Deleted>(event)) {
            log += "deleted;";
            stop.request_stop();
          }
        },
        stop.get_token());
  });
  ASSERT_TRUE(apply("one", "a"));
  ASSERT_TRUE(apply("one", "b"));
  ASSERT_TRUE(client_->remove(kConfigMap, {ns_, "one"}, {}, {}));
  watcher.join();
  ASSERT_TRUE(end) << end.error().to_string();
  EXPECT_EQ(end->kind, WatchEnd::Kind::kCancelled);
  EXPECT_EQ(log, "added;modified;deleted;");
}

TEST_F(ClientTest, AWatchEndsInGoodOrderWhenTheServerEndsIt) {
  const auto end = client_->watch(kConfigMap, {.ns = ns_, .timeout = 1s}, [](const WatchEvent&) {}, {});
  ASSERT_TRUE(end) << end.error().to_string();
  EXPECT_EQ(end->kind, WatchEnd::Kind::kComplete) << end->detail;
}

TEST_F(ClientTest, AWatchFromTooOldAVersionSaysGone) {
  int code = 0;
  const auto end = client_->watch(kConfigMap, {.ns = ns_, .resource_version = "1", .timeout = 1s},
                                  [&](const WatchEvent& event) {
                                    if (const auto* error = std::get_if<WatchError>(&event)) code = error->error.code;
                                  },
                                  {});
  // A young server may still have its whole history; then the watch just ends.
  if (!end) {
    EXPECT_TRUE(end.error().is_gone()) << end.error().to_string();
  } else if (end->kind == WatchEnd::Kind::kError) {
    EXPECT_EQ(code, 410);
  } else {
    EXPECT_EQ(end->kind, WatchEnd::Kind::kComplete) << end->detail;
  }
}

TEST_F(ClientTest, StreamsTheInitialListAndSaysWhereItEnds) {
  ASSERT_TRUE(apply("one", "a"));
  ASSERT_TRUE(apply("two", "a"));
  std::stop_source stop;
  int added = 0;
  int added_at_end = -1;
  const auto end = client_->watch(
      kConfigMap, {.ns = ns_, .label_selector = "client-test=yes", .send_initial_events = true},
      [&](const WatchEvent& event) {
        if (std::holds_alternative<Added>(event)) ++added;
        const auto* bookmark = std::get_if<Bookmark>(&event);
        if (bookmark != nullptr && bookmark->initial_events_end) {
          added_at_end = added;
          stop.request_stop();
        }
      },
      stop.get_token());
  ASSERT_TRUE(end) << end.error().to_string();
  EXPECT_EQ(added_at_end, 2);
}

TEST_F(ClientTest, WritesTheStatusOfTheIncarnationThatItNames) {
  // A service needs no controller to be complete, and none writes its status.
  Json service = {{"apiVersion", "v1"}, {"kind", "Service"}, {"metadata", {{"name", "one"}, {"namespace", ns_}}}};
  service["spec"]["ports"] = Json::array({{{"port", 80}}});
  const auto applied = client_->apply(kService, service, {}, {});
  ASSERT_TRUE(applied) << applied.error().to_string();
  Json status = (*applied)["status"];
  status["conditions"] = Json::array({{{"type", "client-test.example/Seen"},
                                       {"status", "True"},
                                       {"reason", "Test"},
                                       {"message", ""},
                                       {"lastTransitionTime", "2026-01-01T00:00:00Z"}}});
  const auto other = client_->write_status(kService, {ns_, "one"}, "00000000-0000-0000-0000-000000000000", status, {});
  ASSERT_FALSE(other);
  EXPECT_TRUE(other.error().is_invalid()) << other.error().to_string();
  EXPECT_FALSE((*client_->get(kService, {ns_, "one"}, {}))["status"].contains("conditions"));
  const auto written = client_->write_status(kService, {ns_, "one"}, (*applied)["metadata"]["uid"], status, {});
  ASSERT_TRUE(written) << written.error().to_string();
  EXPECT_EQ((*written)["spec"]["ports"][0]["port"], 80) << "the status subresource leaves the spec alone";
  EXPECT_EQ((*written)["status"]["conditions"][0]["type"], "client-test.example/Seen");
}

TEST_F(ClientTest, RemovesOnlyWhatThePreconditionNames) {
  const auto applied = apply("one", "a");
  ASSERT_TRUE(applied);
  const std::string uid = (*applied)["metadata"]["uid"];
  const auto other = client_->remove(kConfigMap, {ns_, "one"}, {.uid = "00000000-0000-0000-0000-000000000000"}, {});
  ASSERT_FALSE(other);
  EXPECT_TRUE(other.error().is_conflict()) << other.error().to_string();
  EXPECT_TRUE(client_->remove(kConfigMap, {ns_, "one"}, {.uid = uid, .dry_run = DryRun::kAll}, {}));
  EXPECT_TRUE(client_->get(kConfigMap, {ns_, "one"}, {}));
  EXPECT_TRUE(client_->remove(kConfigMap, {ns_, "one"}, {.uid = uid}, {}));
  EXPECT_TRUE(client_->get(kConfigMap, {ns_, "one"}, {}).error().is_not_found());
  EXPECT_TRUE(client_->remove(kConfigMap, {ns_, "one"}, {.uid = uid}, {}).error().is_not_found());
}

}  // namespace
}  // namespace inference::client
