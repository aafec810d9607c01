#include "operator/runtime/manager.h"

#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "operator/client/credentials.h"
#include "operator/runtime/enqueue.h"
#include "operator/runtime/testing/plain_http.h"
#include "operator/runtime/testing/scripted_list_watch.h"

namespace inference::runtime {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::make_object;
using testing::ScriptedListWatch;
using testing::status_error;

// Notes what it was given and whether both caches were whole at that time.
class NotingReconciler final : public Reconciler {
 public:
  explicit NotingReconciler(std::vector<const Informer*> informers) : informers_(std::move(informers)) {}
  std::expected<Result, ReconcileError> reconcile(const Request& request, std::stop_token) override {
    const std::scoped_lock lock(mutex_);
    for (const Informer* informer : informers_) too_early_ = too_early_ || !informer->has_synced();
    names_.push_back(request.ref.name);
    changed_.notify_all();
    return Result::await_change();
  }
  bool wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, seconds{60}, [&] { return names_.size() >= count; });
  }
  [[nodiscard]] bool has_been_called() {
    const std::scoped_lock lock(mutex_);
    return !names_.empty();
  }
  [[nodiscard]] bool too_early() {
    const std::scoped_lock lock(mutex_);
    return too_early_;
  }

 private:
  const std::vector<const Informer*> informers_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> names_;
  bool too_early_ = false;
};

class ManagerTest : public ::testing::Test {
 protected:
  FakeClock clock_;
  SeededRandom random_{1};
  Metrics metrics_;
  client::ApiClient api_{nullptr, nullptr, clock_, {}};  // nobody calls it: the informers' sources are scripted
  Recorder recorder_{{.instance = "test"},
                     [](const Json&, std::stop_token) { return std::expected<void, client::ApiError>{}; },
                     metrics_,
                     clock_,
                     random_};
  Manager manager_{{}, {.api = api_, .metrics = metrics_, .recorder = recorder_, .clock = clock_, .random = random_}};
  ScriptedListWatch* things_ = nullptr;
  ScriptedListWatch* parts_ = nullptr;
  NotingReconciler* reconciler_ = nullptr;
  std::expected<void, std::string> result_;
  std::jthread thread_;

  Informer& add_informer(const std::string& kind, ScriptedListWatch*& source) {
    auto scripted = std::make_unique<ScriptedListWatch>();
    source = scripted.get();
    return manager_.add(std::make_unique<Informer>(InformerOptions{.kind = kind, .indexes = {}}, std::move(scripted),
                                                   metrics_, clock_, random_));
  }

  void SetUp() override {
    Informer& things = add_informer("Thing", things_);
    Informer& parts = add_informer("Part", parts_);
    auto reconciler = std::make_unique<NotingReconciler>(std::vector<const Informer*>{&things, &parts});
    reconciler_ = reconciler.get();
    Controller& controller =
        manager_.add_controller({.name = "thing", .workers = 2, .limits = {}}, std::move(reconciler));
    things.on_change(enqueue_object(controller.queue()));
  }

  void run() {
    thread_ = std::jthread([this](std::stop_token stop) { result_ = manager_.run(stop); });
  }
};

TEST_F(ManagerTest, StartsWorkersOnlyWhenAllCachesAreWhole) {
  things_->answer_list(
      client::ListPage{.items = {make_object("a", "1")}, .continue_token = {}, .resource_version = "9"});
  run();
  ASSERT_TRUE(things_->wait_for_calls(2));
  ASSERT_TRUE(parts_->wait_for_calls(1));
  EXPECT_FALSE(reconciler_->too_early());
  parts_->answer_list(std::unexpected(status_error(404)));  // not installed: counts as synced
  ASSERT_TRUE(reconciler_->wait_for(1));
  EXPECT_FALSE(reconciler_->too_early());
  things_->answer_watch({.events = {client::Added{make_object("b", "10")}}, .end = std::nullopt});
  ASSERT_TRUE(reconciler_->wait_for(2));
  thread_.request_stop();
  thread_.join();
  EXPECT_TRUE(result_.has_value()) << result_.error();
}

TEST_F(ManagerTest, GivesUpNamingTheKindThatDoesNotSync) {
  things_->answer_list(client::ListPage{.items = {}, .continue_token = {}, .resource_version = "9"});
  parts_->answer_list(std::unexpected(status_error(403)));
  run();
  ASSERT_TRUE(things_->wait_for_calls(2));  // Thing has synced
  // run() waits for the sync, the recorder for events, Part's reflector backs off.
  ASSERT_TRUE(clock_.wait_for_sleepers(3));
  clock_.advance(minutes{2});
  thread_.join();
  ASSERT_FALSE(result_.has_value());
  EXPECT_EQ(result_.error(), "could not list Part in time: " + status_error(403).to_string());
}

TEST_F(ManagerTest, StopsWhileItStillWaitsForTheCaches) {
  run();
  ASSERT_TRUE(things_->wait_for_calls(1));
  thread_.request_stop();
  thread_.join();
  EXPECT_TRUE(result_.has_value()) << result_.error();
}

TEST(ManagerHealth, IsReadyOnceTheCachesAreWholeAndTheWorkersRun) {
  FakeClock clock;
  SeededRandom random(1);
  Metrics metrics;
  client::ApiClient api{nullptr, nullptr, clock, {}};
  const EventWriter write = [](const Json&, std::stop_token) { return std::expected<void, client::ApiError>{}; };
  Recorder recorder({.instance = "test"}, write, metrics, clock, random);
  Manager manager({.health_address = "127.0.0.1:0"},
                  {.api = api, .metrics = metrics, .recorder = recorder, .clock = clock, .random = random});
  auto scripted = std::make_unique<ScriptedListWatch>();
  ScriptedListWatch& things = *scripted;
  Informer& informer = manager.add(std::make_unique<Informer>(InformerOptions{.kind = "Thing", .indexes = {}},
                                                              std::move(scripted), metrics, clock, random));
  auto reconciler = std::make_unique<NotingReconciler>(std::vector<const Informer*>{});
  NotingReconciler& noting = *reconciler;
  Controller& controller = manager.add_controller({.name = "thing", .workers = 1, .limits = {}}, std::move(reconciler));
  informer.on_change(enqueue_object(controller.queue()));
  std::jthread runner([&manager](std::stop_token stop) { EXPECT_TRUE(manager.run(stop).has_value()); });

  ASSERT_TRUE(things.wait_for_calls(1));
  const int port = manager.health_port();
  EXPECT_TRUE(testing::get(port, "/readyz").ends_with("waiting for the first list of Thing\n"));
  EXPECT_TRUE(testing::get(port, "/healthz").ends_with("ok\n"));
  things.answer_list(client::ListPage{.items = {make_object("a", "1")}, .continue_token = {}, .resource_version = "9"});
  ASSERT_TRUE(noting.wait_for(1));
  ASSERT_TRUE(clock.wait_for_sleepers(3));  // the worker, the recorder and run() itself
  EXPECT_TRUE(testing::get(port, "/readyz").ends_with("ok\n"));
  EXPECT_TRUE(testing::get(port, "/healthz").ends_with("ok\n"));
  EXPECT_NE(testing::get(port, "/metrics").find("informer_objects{kind=\"Thing\"} 1"), std::string::npos);
  runner.request_stop();
  runner.join();
  EXPECT_EQ(manager.health_port(), 0);
}

// A Lease that another holds until it lets go, and that this process then cannot renew.
class HeldLease {
 public:
  LeaseCalls calls() {
    return {
        .get = [this](std::stop_token) -> LeaseCalls::Answer { return lease(); },
        .create = [](const Json&, std::stop_token) -> LeaseCalls::Answer { return std::unexpected(status_error(500)); },
        .update = [this](const Json& wanted, std::stop_token) -> LeaseCalls::Answer {
          writes_.push_back(wanted["spec"]["holderIdentity"]);
          if (writes_.size() == 1 || writes_.back().empty()) return wanted;
          return std::unexpected(status_error(500));
        }};
  }
  void let_go() { free_ = true; }
  /// Once the elector's thread has ended.
  [[nodiscard]] const std::vector<std::string>& writes() const { return writes_; }

 private:
  [[nodiscard]] Json lease() const {
    return {{"metadata", {{"resourceVersion", "1"}}},
            {"spec", {{"holderIdentity", free_ ? "" : "other"}, {"leaseDurationSeconds", 15}}}};
  }
  std::atomic<bool> free_ = false;
  std::vector<std::string> writes_;
};

class ElectedManager : public ::testing::Test {
 protected:
  explicit ElectedManager(std::optional<std::string> health_address = {})
      : manager_({.health_address = std::move(health_address), .elector = &elector_},
                 {.api = api_, .metrics = metrics_, .recorder = recorder_, .clock = clock_, .random = random_}) {}

  FakeClock clock_;
  SeededRandom random_{1};
  Metrics metrics_;
  client::ApiClient api_{nullptr, nullptr, clock_, {}};
  Recorder recorder_{{.instance = "test"},
                     [](const Json&, std::stop_token) { return std::expected<void, client::ApiError>{}; },
                     metrics_,
                     clock_,
                     random_};
  HeldLease lease_;
  LeaderElector elector_{
      {.lease = {"ns", "op"}, .identity = "me"}, lease_.calls(), metrics_.leader("op"), clock_, random_};
  Manager manager_;
  NotingReconciler* reconciler_ = nullptr;
  std::expected<void, std::string> result_;
  std::jthread thread_;

  // One object is in the cache; the process stands by.
  void SetUp() override {
    auto scripted = std::make_unique<ScriptedListWatch>();
    scripted->answer_list(
        client::ListPage{.items = {make_object("a", "1")}, .continue_token = {}, .resource_version = "9"});
    Informer& informer = manager_.add(std::make_unique<Informer>(InformerOptions{.kind = "Thing", .indexes = {}},
                                                                 std::move(scripted), metrics_, clock_, random_));
    auto reconciler = std::make_unique<NotingReconciler>(std::vector<const Informer*>{});
    reconciler_ = reconciler.get();
    Controller& controller =
        manager_.add_controller({.name = "thing", .workers = 1, .limits = {}}, std::move(reconciler));
    informer.on_change(enqueue_object(controller.queue()));
    thread_ = std::jthread([this](std::stop_token stop) { result_ = manager_.run(stop); });
    ASSERT_TRUE(clock_.wait_for_sleepers(3));  // run() itself, the recorder, the elector
  }
  void lead() {
    lease_.let_go();
    clock_.advance(seconds{2});
    ASSERT_TRUE(reconciler_->wait_for(1));
    ASSERT_TRUE(clock_.wait_for_sleepers(4));  // the worker too
  }
};

class ElectedManagerHealth : public ElectedManager {
 protected:
  ElectedManagerHealth() : ElectedManager("127.0.0.1:0") {}
};

TEST_F(ElectedManagerHealth, IsReadyWhileItStandsByAndWhileItLeads) {
  EXPECT_TRUE(testing::get(manager_.health_port(), "/readyz").ends_with("ok\n"));
  EXPECT_TRUE(testing::get(manager_.health_port(), "/healthz").ends_with("ok\n"));
  lead();
  EXPECT_TRUE(testing::get(manager_.health_port(), "/readyz").ends_with("ok\n"));
  EXPECT_TRUE(testing::get(manager_.health_port(), "/healthz").ends_with("ok\n"));
}

TEST_F(ElectedManager, ReconcilesNothingWhileItStandsBy) {
  clock_.advance(seconds{2});
  ASSERT_TRUE(clock_.wait_for_sleepers(3));
  EXPECT_FALSE(reconciler_->has_been_called());
  thread_.request_stop();
  thread_.join();
  EXPECT_TRUE(result_.has_value()) << result_.error();
  EXPECT_TRUE(lease_.writes().empty());
}

TEST_F(ElectedManager, ReconcilesOnceItLeadsAndReleasesTheLeaseAtTheEnd) {
  lead();
  thread_.request_stop();
  thread_.join();
  EXPECT_TRUE(result_.has_value()) << result_.error();
  EXPECT_EQ(lease_.writes(), (std::vector<std::string>{"me", ""}));
}

TEST_F(ElectedManager, EndsWithOneLineWhenTheLeaseIsLost) {
  lead();
  for (int i = 0; i < 4; ++i) {
    clock_.advance(seconds{2});
    ASSERT_TRUE(clock_.wait_for_sleepers(4));
  }
  clock_.advance(seconds{2});
  thread_.join();
  ASSERT_FALSE(result_.has_value());
  EXPECT_TRUE(result_.error().starts_with("lost the lease ns/op: not renewed in time")) << result_.error();
  EXPECT_EQ(lease_.writes(), (std::vector<std::string>(5, "me")));
}

}  // namespace
}  // namespace inference::runtime
