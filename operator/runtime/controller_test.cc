#include "operator/runtime/controller.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <stdexcept>

#include "base/fake_clock.h"

namespace inference::runtime {
namespace {

using client::ObjectRef;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Outcome = std::expected<Result, ReconcileError>;

const ObjectRef kKey{"default", "a"};

ReconcileError error(ReconcileError::Kind kind, std::optional<Duration> retry_after = std::nullopt) {
  return {.kind = kind, .message = "apply deployments.apps a: refused", .retry_after = retry_after};
}

// Does what the test says, and lets it wait for the calls.
class ScriptedReconciler final : public Reconciler {
 public:
  using Body = std::function<Outcome(const Request&, std::stop_token)>;
  explicit ScriptedReconciler(Body body) : body_(std::move(body)) {}

  Outcome reconcile(const Request& request, std::stop_token stop) override {
    {
      const std::scoped_lock lock(mutex_);
      requests_.push_back(request);
      changed_.notify_all();
    }
    return body_(request, stop);
  }
  [[nodiscard]] bool wait_for_requests(std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, seconds{60}, [&] { return requests_.size() >= count; });
  }
  [[nodiscard]] std::vector<Request> requests() {
    const std::scoped_lock lock(mutex_);
    return requests_;
  }

 private:
  const Body body_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Request> requests_;
};

class ControllerTest : public testing::Test {
 protected:
  FakeClock clock_;
  Metrics metrics_;
  ScriptedReconciler* reconciler_ = nullptr;
  // What a reconciler reaches for: the workers outlive the locals of a test, but nothing above the controller.
  std::atomic<bool> healthy_ = false;
  std::atomic<int> inside_ = 0;
  std::atomic<bool> overlapped_ = false;
  std::stop_source release_;
  std::unique_ptr<Controller> controller_;

  void TearDown() override { release_.request_stop(); }

  void start(ScriptedReconciler::Body body, std::size_t workers = 1) {
    auto reconciler = std::make_unique<ScriptedReconciler>(std::move(body));
    reconciler_ = reconciler.get();
    controller_ = std::make_unique<Controller>(ControllerOptions{.name = "test", .workers = workers, .limits = {}},
                                               std::move(reconciler), metrics_, clock_);
    controller_->start();
    ASSERT_TRUE(clock_.wait_for_sleepers(workers));
  }
  // The worker has settled the outcome and waits for the next key.
  void reconcile_once() {
    const std::size_t before = reconciler_->requests().size();
    controller_->queue().add(kKey);
    ASSERT_TRUE(reconciler_->wait_for_requests(before + 1));  // a worker that has been woken still counts as asleep
    ASSERT_TRUE(clock_.wait_for_sleepers(controller_->workers()));
  }
  [[nodiscard]] bool counted(const std::string& line) const {
    return metrics_.to_text().find(line + "\n") != std::string::npos;
  }
};

TEST_F(ControllerTest, AwaitsTheNextChangeAfterSuccess) {
  start([](const Request&, std::stop_token) -> Outcome { return Result::await_change(); });
  ASSERT_TRUE(counted("reconcile_total{controller=\"test\",result=\"success\"} 0"));
  reconcile_once();
  clock_.advance(std::chrono::hours{10});
  ASSERT_TRUE(clock_.wait_for_sleepers(1));
  EXPECT_EQ(reconciler_->requests().size(), 1u);
  EXPECT_TRUE(counted("reconcile_total{controller=\"test\",result=\"success\"} 1"));
}

TEST_F(ControllerTest, ComesBackAfterTheDelayThatWasAskedFor) {
  start([](const Request&, std::stop_token) -> Outcome { return Result::requeue_after(seconds{30}, "loading"); });
  reconcile_once();
  clock_.advance(seconds{29});
  ASSERT_TRUE(clock_.wait_for_sleepers(1));
  EXPECT_EQ(reconciler_->requests().size(), 1u);
  clock_.advance(seconds{1});
  ASSERT_TRUE(reconciler_->wait_for_requests(2));
  ASSERT_TRUE(clock_.wait_for_sleepers(1));
  EXPECT_NE(reconciler_->requests()[0].id, reconciler_->requests()[1].id);
  EXPECT_TRUE(counted("reconcile_total{controller=\"test\",result=\"requeue_after\"} 2"));
}

TEST_F(ControllerTest, BacksOffAfterErrorsAndForgetsThemAfterSuccess) {
  start([this](const Request&, std::stop_token) -> Outcome {
    if (healthy_) return Result::await_change();
    return std::unexpected(error(ReconcileError::Kind::kRetry));
  });
  reconcile_once();
  EXPECT_EQ(controller_->queue().failures(kKey), 1u);
  clock_.advance(milliseconds{5});
  ASSERT_TRUE(reconciler_->wait_for_requests(2));
  ASSERT_TRUE(clock_.wait_for_sleepers(1));
  EXPECT_EQ(controller_->queue().failures(kKey), 2u);
  healthy_ = true;
  clock_.advance(milliseconds{60});
  ASSERT_TRUE(reconciler_->wait_for_requests(3));
  ASSERT_TRUE(clock_.wait_for_sleepers(1));
  EXPECT_EQ(controller_->queue().failures(kKey), 0u);
  EXPECT_TRUE(counted("reconcile_errors_total{controller=\"test\"} 2"));
  EXPECT_TRUE(counted("reconcile_total{controller=\"test\",result=\"error\"} 2"));
  EXPECT_TRUE(counted("workqueue_retries_total{name=\"test\"} 2"));
}

TEST_F(ControllerTest, WaitsAsLongAsAnErrorSays) {
  start([](const Request&, std::stop_token) -> Outcome {
    return std::unexpected(error(ReconcileError::Kind::kRetry, seconds{60}));
  });
  reconcile_once();
  clock_.advance(seconds{59});
  ASSERT_TRUE(clock_.wait_for_sleepers(1));
  EXPECT_EQ(reconciler_->requests().size(), 1u);
  clock_.advance(seconds{1});
  ASSERT_TRUE(reconciler_->wait_for_requests(2));
}

TEST_F(ControllerTest, DoesNotRetryATerminalError) {
  start([](const Request&, std::stop_token) -> Outcome {
    return std::unexpected(error(ReconcileError::Kind::kTerminal));
  });
  reconcile_once();
  clock_.advance(std::chrono::hours{10});
  ASSERT_TRUE(clock_.wait_for_sleepers(1));
  EXPECT_EQ(reconciler_->requests().size(), 1u);
  EXPECT_TRUE(counted("terminal_reconcile_errors_total{controller=\"test\"} 1"));
  EXPECT_TRUE(counted("reconcile_total{controller=\"test\",result=\"terminal_error\"} 1"));
}

TEST_F(ControllerTest, SurvivesAnExceptionAndCountsIt) {
  start([](const Request&, std::stop_token) -> Outcome { throw std::runtime_error("broken invariant"); });
  reconcile_once();
  EXPECT_TRUE(counted("reconcile_panics_total{controller=\"test\"} 1"));
  EXPECT_EQ(controller_->alive(), 1u);
  clock_.advance(milliseconds{5});
  ASSERT_TRUE(reconciler_->wait_for_requests(2));
}

TEST_F(ControllerTest, NeverReconcilesOneKeyTwiceAtOnce) {
  start(
      [this](const Request&, std::stop_token) -> Outcome {
        if (inside_.fetch_add(1) != 0) overlapped_ = true;
        std::this_thread::yield();
        inside_.fetch_sub(1);
        return Result::await_change();
      },
      4);
  for (int i = 0; i < 500; ++i) {
    controller_->queue().add(kKey);
    if (i % 10 == 0) std::this_thread::yield();
  }
  ASSERT_TRUE(reconciler_->wait_for_requests(1));
  controller_.reset();  // a woken worker still counts as asleep: only its end says that it is done
  EXPECT_FALSE(overlapped_);
}

TEST_F(ControllerTest, CancelsWhatItReconcilesOnStop) {
  start([this](const Request&, std::stop_token stop) -> Outcome {
    (void)sleep(clock_, std::chrono::hours{1}, stop);
    return std::unexpected(error(ReconcileError::Kind::kRetry));
  });
  reconcile_once();
  controller_->request_stop();
  ASSERT_TRUE(controller_->wait_stopped(clock_.now() + seconds{1}));
  EXPECT_EQ(controller_->alive(), 0u);
  EXPECT_TRUE(counted("reconcile_errors_total{controller=\"test\"} 0")) << "being stopped is no failure";
}

TEST_F(ControllerTest, SaysSoWhenAWorkerDoesNotStopInTime) {
  start([this](const Request&, std::stop_token) -> Outcome {
    (void)sleep(clock_, std::chrono::hours{1}, release_.get_token());  // deaf to its own token
    return Result::await_change();
  });
  reconcile_once();
  controller_->request_stop();
  bool stopped = true;
  std::jthread waiter([&] { stopped = controller_->wait_stopped(clock_.now() + seconds{5}); });
  ASSERT_TRUE(clock_.wait_for_sleepers(2));
  clock_.advance(seconds{5});
  waiter.join();
  EXPECT_FALSE(stopped);
}

}  // namespace
}  // namespace inference::runtime
