#include "operator/runtime/work_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <random>
#include <thread>

#include "base/fake_clock.h"

namespace inference::runtime {
namespace {

using client::ObjectRef;
using std::chrono::milliseconds;
using std::chrono::seconds;

ObjectRef key(int i) {
  return {.ns = "default", .name = std::to_string(i)};
}

class WorkQueueTest : public testing::Test {
 protected:
  FakeClock clock_;
  Metrics metrics_;
  WorkQueue queue_{clock_, metrics_.queue("test")};

  // For where a key must be there: does not hang the test if it is not.
  std::optional<ObjectRef> get_now() {
    std::stop_source stop;
    std::optional<ObjectRef> got;
    std::jthread worker([&] { got = queue_.get(stop.get_token()); });
    if (queue_.length() == 0) {
      (void)clock_.wait_for_sleepers(1);
      stop.request_stop();
    }
    worker.join();
    return got;
  }
};

TEST_F(WorkQueueTest, HandsOutKeysInTheOrderOfTheirFirstAdd) {
  queue_.add(key(1));
  queue_.add(key(2));
  queue_.add(key(1));
  EXPECT_EQ(queue_.length(), 2u);
  EXPECT_EQ(queue_.get({}), key(1));
  EXPECT_EQ(queue_.get({}), key(2));
  EXPECT_EQ(queue_.length(), 0u);
}

TEST_F(WorkQueueTest, KeepsAKeyThatIsAddedWhileWorkedOnForLater) {
  queue_.add(key(1));
  ASSERT_EQ(queue_.get({}), key(1));
  queue_.add(key(1));
  queue_.add(key(1));
  EXPECT_EQ(queue_.length(), 0u);
  queue_.done(key(1));
  EXPECT_EQ(queue_.length(), 1u);
  ASSERT_EQ(queue_.get({}), key(1));
  queue_.done(key(1));
  EXPECT_EQ(queue_.length(), 0u);
}

TEST_F(WorkQueueTest, ReleasesADelayedKeyWhenItsTimeHasCome) {
  queue_.add_after(key(1), seconds(10));
  std::optional<ObjectRef> got;
  std::jthread worker([&] { got = queue_.get({}); });
  ASSERT_TRUE(clock_.wait_for_sleepers(1));
  clock_.advance(seconds(9));
  ASSERT_TRUE(clock_.wait_for_sleepers(1));  // asleep again: it was too early
  clock_.advance(seconds(1));
  worker.join();
  EXPECT_EQ(got, key(1));
}

TEST_F(WorkQueueTest, LetsTheEarlierOfTwoDelaysWin) {
  queue_.add_after(key(1), seconds(10));
  queue_.add_after(key(1), seconds(5));
  queue_.add_after(key(1), seconds(20));
  clock_.advance(seconds(5));
  ASSERT_EQ(queue_.get({}), key(1));
  queue_.done(key(1));
  clock_.advance(seconds(60));
  EXPECT_EQ(get_now(), std::nullopt) << "the later delays of the same key are void";
}

// Tells when somebody is about to wait, with the lock still held.
class AnnouncingClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return system_.now(); }
  [[nodiscard]] WallTime wall_now() const override { return system_.wall_now(); }
  void wait_until(std::condition_variable_any& condition, std::unique_lock<std::mutex>& lock, TimePoint deadline,
                  std::stop_token stop) override {
    waiting_.test_and_set();
    waiting_.notify_all();
    system_.wait_until(condition, lock, deadline, stop);
  }
  void wait_for_sleeper() { waiting_.wait(false); }

 private:
  SystemClock system_;
  std::atomic_flag waiting_;
};

// On real time: a fake clock wakes its sleepers whatever their deadlines are.
TEST_F(WorkQueueTest, WakesASleeperForADelayEarlierThanItsOwn) {
  AnnouncingClock clock;
  WorkQueue queue(clock, metrics_.queue("real"));
  queue.add_after(key(1), seconds(30));
  std::optional<ObjectRef> got;
  std::jthread worker([&] { got = queue.get({}); });
  clock.wait_for_sleeper();
  queue.add_after(key(2), milliseconds(1));  // has to wait for the lock, which the sleeper gives away by falling asleep
  worker.join();
  EXPECT_EQ(got, key(2));
}

TEST_F(WorkQueueTest, BacksOffAFailingKeyUntilItIsForgotten) {
  queue_.add_rate_limited(key(1));
  EXPECT_EQ(queue_.failures(key(1)), 1u);
  EXPECT_EQ(queue_.length(), 0u);
  clock_.advance(milliseconds(5));
  ASSERT_EQ(queue_.get({}), key(1));
  queue_.forget(key(1));
  EXPECT_EQ(queue_.failures(key(1)), 0u);
}

TEST_F(WorkQueueTest, StopsWaitingOnTheStopToken) {
  std::stop_source stop;
  std::optional<ObjectRef> got = key(1);
  std::jthread worker([&] { got = queue_.get(stop.get_token()); });
  ASSERT_TRUE(clock_.wait_for_sleepers(1));
  stop.request_stop();
  worker.join();
  EXPECT_EQ(got, std::nullopt);
}

TEST_F(WorkQueueTest, DrainsWhatWaitsAfterShutDownAndTakesNoMore) {
  queue_.add(key(1));
  queue_.add(key(2));
  ASSERT_EQ(queue_.get({}), key(1));
  queue_.add(key(1));
  queue_.add_after(key(3), seconds(1));
  queue_.shut_down();
  queue_.add(key(4));
  queue_.add_after(key(5), milliseconds(1));
  queue_.add_rate_limited(key(6));
  clock_.advance(seconds(10));
  EXPECT_EQ(queue_.get({}), key(2));
  queue_.done(key(1));
  EXPECT_EQ(queue_.get({}), key(1)) << "added before, while it was worked on";
  EXPECT_EQ(queue_.get({}), std::nullopt);
}

TEST_F(WorkQueueTest, CountsDepthAddsRetriesAndTimes) {
  queue_.add(key(1));
  queue_.add(key(1));
  queue_.add(key(2));
  clock_.advance(seconds(3));
  ASSERT_EQ(queue_.get({}), key(1));
  clock_.advance(seconds(5));
  queue_.done(key(1));
  queue_.add_rate_limited(key(1));
  const std::string text = metrics_.to_text();
  EXPECT_NE(text.find("workqueue_depth{name=\"test\"} 1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("workqueue_adds_total{name=\"test\"} 2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("workqueue_retries_total{name=\"test\"} 1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("workqueue_queue_duration_seconds_sum{name=\"test\"} 3\n"), std::string::npos) << text;
  EXPECT_NE(text.find("workqueue_work_duration_seconds_sum{name=\"test\"} 5\n"), std::string::npos) << text;
}

// A plain restatement of the queue's promises, compared with the queue over random operations of one thread.
struct Model {
  std::set<ObjectRef> wanted;  // added since last handed out
  std::set<ObjectRef> held;
  std::map<ObjectRef, TimePoint> delayed;

  void add(const ObjectRef& k) { wanted.insert(k); }
  void add_after(const ObjectRef& k, TimePoint at) {
    const auto [it, is_new] = delayed.emplace(k, at);
    if (!is_new) it->second = std::min(it->second, at);
  }
  void tick(TimePoint now) {
    for (auto it = delayed.begin(); it != delayed.end();) {
      if (it->second > now) {
        ++it;
        continue;
      }
      wanted.insert(it->first);
      it = delayed.erase(it);
    }
  }
  [[nodiscard]] bool has_work() const {
    return std::ranges::any_of(wanted, [this](const ObjectRef& k) { return !held.contains(k); });
  }
};

void compare_with_model(unsigned seed) {
  std::mt19937 random(seed);
  const auto pick = [&random](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  FakeClock clock;
  Metrics metrics;
  WorkQueue queue(clock, metrics.queue("test"));
  Model model;
  for (int i = 0; i < 400; ++i) {
    const ObjectRef k = key(pick(6));
    model.tick(clock.now());
    switch (pick(5)) {
      case 0:
        queue.add(k), model.add(k);
        break;
      case 1: {
        const auto delay = milliseconds(1 + pick(50));
        queue.add_after(k, delay);
        model.add_after(k, clock.now() + delay);
        break;
      }
      case 2:
        clock.advance(milliseconds(pick(30)));
        break;
      case 3: {
        if (!model.has_work()) break;  // get would wait
        const auto got = queue.get({});
        ASSERT_TRUE(got.has_value());
        ASSERT_FALSE(model.held.contains(*got)) << "two workers got " << got->name;
        ASSERT_EQ(model.wanted.erase(*got), 1u) << "nobody wanted " << got->name;
        model.held.insert(*got);
        break;
      }
      default:
        if (model.held.erase(k) == 1) queue.done(k);
    }
  }
  // Nothing that was wanted is lost, and nothing else is handed out.
  clock.advance(seconds(1));
  model.tick(clock.now());
  for (const ObjectRef& k : model.held) queue.done(k);
  model.held.clear();
  while (!model.wanted.empty()) {
    const auto got = queue.get({});
    ASSERT_TRUE(got.has_value());
    ASSERT_EQ(model.wanted.erase(*got), 1u);
    queue.done(*got);
  }
  queue.shut_down();
  EXPECT_EQ(queue.get({}), std::nullopt);
}

TEST(WorkQueueProperty, BehavesAsItsModelOverRandomOperations) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    compare_with_model(seed);
    if (testing::Test::HasFatalFailure()) return;
  }
}

// Four workers and three producers on eight keys. Each key carries a version that its producers raise before they add
// it.
struct Crowd {
  static constexpr std::size_t kKeys = 8;
  FakeClock clock;
  Metrics metrics;
  WorkQueue queue{clock, metrics.queue("test")};
  std::array<std::atomic<int>, kKeys> held{};
  std::array<std::atomic<int>, kKeys> wanted{};
  std::array<std::atomic<int>, kKeys> worked{};
  std::atomic<bool> shared = false;  // a key was in two hands
  std::atomic<int> handed_out = 0;

  void work() {
    std::mt19937 random(1);
    while (const auto got = queue.get({})) {
      const auto i = static_cast<std::size_t>(std::stoi(got->name));
      if (held[i].fetch_add(1) != 0) shared = true;
      const int version = wanted[i];
      if (random() % 4 == 0) std::this_thread::yield();
      worked[i] = version;
      held[i].fetch_sub(1);
      ++handed_out;
      queue.done(*got);
    }
  }

  void produce(unsigned seed, int times) {
    std::mt19937 random(seed);
    for (int n = 0; n < times; ++n) {
      const std::size_t i = random() % kKeys;
      ++wanted[i];
      switch (random() % 3) {
        case 0:
          queue.add(key(static_cast<int>(i)));
          break;
        case 1:
          queue.add_after(key(static_cast<int>(i)), milliseconds(random() % 20));
          break;
        default:
          queue.add_rate_limited(key(static_cast<int>(i)));
          queue.forget(key(static_cast<int>(i)));
      }
    }
  }

  [[nodiscard]] bool settled() const {
    for (std::size_t i = 0; i < kKeys; ++i) {
      if (worked[i] != wanted[i]) return false;
    }
    return true;
  }
};

TEST(WorkQueueProperty, NeverHandsOneKeyToTwoWorkersAndLosesNothing) {
  constexpr int kTimes = 2000;
  Crowd crowd;
  std::vector<std::jthread> workers;
  for (int i = 0; i < 4; ++i) workers.emplace_back([&crowd] { crowd.work(); });
  std::vector<std::jthread> producers;
  for (unsigned seed = 1; seed <= 3; ++seed) producers.emplace_back([&crowd, seed] { crowd.produce(seed, kTimes); });
  for (int i = 0; i < 50; ++i) crowd.clock.advance(milliseconds(3));
  producers.clear();  // joins
  // A lost key would never settle; the bound turns that into a failure. The bucket owes 6,000 tokens at worst: ten
  // minutes.
  bool settled = false;
  for (int i = 0; i < 2000 && !settled; ++i) {
    crowd.clock.advance(seconds(1));
    (void)crowd.clock.wait_for_sleepers(4);
    settled = crowd.settled();
  }
  EXPECT_TRUE(settled);
  EXPECT_FALSE(crowd.shared);
  EXPECT_LE(crowd.handed_out, 3 * kTimes);
  crowd.queue.shut_down();
  workers.clear();  // joins: everyone ends
}

}  // namespace
}  // namespace inference::runtime
