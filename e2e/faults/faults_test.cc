// The operator behind a proxy that does to its requests what networks and busy servers do, while someone works on a
// hundred models and processes are killed. When it is over, the world must be what the specs say: nothing lost, nothing
// left, nothing twice.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <thread>

#include "e2e/faults/expected_world.h"
#include "e2e/faults/fault_proxy.h"
#include "e2e/faults/random_user.h"
#include "e2e/real_cluster.h"

namespace inference::e2e {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kModels = 100;
constexpr int kFaults = 200;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) ADD_FAILURE() << name << " is not set: run this test by ./dev test --only faults";
  return value == nullptr ? "0" : value;
}

std::string first_of(const std::vector<std::string>& lines) {
  std::string text;
  for (std::size_t index = 0; index < lines.size() && index < 20; ++index) text += "  " + lines[index] + "\n";
  return std::to_string(lines.size()) + ":\n" + text;
}

class Faults : public testing::Test {
 protected:
  void SetUp() override {
    cluster_.must({"create", "namespace", kNamespace});  // it goes with the cluster, which is this test's own
    user_.change_profile();
    start_operator();
  }

  void start_operator() {
    operator_ = std::make_unique<OperatorProcess>(cluster_, OperatorOptions{.server = proxy_.url()});
    ++started_;
  }
  /// After the operator's end. Its log stays beside those of the cluster's components.
  void close_log() {
    const std::string log = operator_->log();
    std::ofstream(state_ + "/logs/operator-" + std::to_string(started_) + ".log") << log;
    for (const char* defect : {"Sanitizer", "runtime error:", "reconcile threw", "did not stop in time"}) {
      const auto found = log.find(defect);
      EXPECT_EQ(found, std::string::npos) << log.substr(found, 5000);
    }
  }
  /// One that has ended by itself, as it does when it can't list in time, is started again as a kubelet would.
  void tend_operator() {
    if (operator_->running()) return;
    const int code = operator_->wait();
    std::cout << "    the operator ended with " << code << std::endl;
    close_log();
    start_operator();
  }
  void kill_operator() {
    tend_operator();
    EXPECT_EQ(operator_->stop(SIGKILL), 128 + SIGKILL);
    close_log();
    start_operator();
  }
  void on_cluster(const std::string& verb, const std::string& component) {
    const Output done = run({environment("INFERENCE_TEST_CLUSTER"), verb, component, "--state", state_});
    EXPECT_EQ(done.exit_code, 0) << verb << " " << component << ": " << done.text;
  }

  /// What happens besides, each when so many models have been created.
  [[nodiscard]] std::multimap<int, std::function<void()>> disasters() {
    std::multimap<int, std::function<void()>> due;
    const auto once = [&](std::function<void()> what) {
      due.emplace(5 + static_cast<int>(user_.dice(90)), std::move(what));
    };
    for (int count = 0; count < 3; ++count) once([this] { kill_operator(); });
    for (int count = 0; count < 2; ++count) once([this] { user_.change_profile(); });
    once([this] {
      on_cluster("kill", "apiserver");
      on_cluster("start", "apiserver");
    });
    once([this] { on_cluster("restart", "etcd"); });
    return due;
  }

  void rain() {
    auto due = disasters();
    while (user_.created() < kModels && !HasFailure()) {
      user_.act();
      for (; !due.empty() && due.begin()->first <= user_.created(); due.erase(due.begin())) due.begin()->second();
      tend_operator();
      std::this_thread::sleep_for(milliseconds{user_.dice(200)});
    }
    ASSERT_FALSE(HasFailure());
    EXPECT_TRUE(eventually(
        [&] {
          if (proxy_.count() >= kFaults) return true;
          user_.change();
          tend_operator();
          return false;
        },
        seconds{300}, milliseconds{200}));
    proxy_.calm();
  }

  void expect_settled(ExpectedWorld& world) {
    std::vector<std::string> differences;
    ASSERT_TRUE(eventually(
        [&] {
          tend_operator();
          differences = world.differences();
          return differences.empty();
        },
        seconds{400}, seconds{1}))
        << first_of(differences);
  }
  void expect_silence() {
    // The last events may still be on their way.
    std::size_t before = 0;
    EXPECT_TRUE(eventually([&] { return std::exchange(before, cluster_.operator_writes(kNamespace).size()) == before; },
                           seconds{60}, seconds{3}));
    const std::size_t settled = cluster_.operator_writes(kNamespace).size();
    std::this_thread::sleep_for(seconds{20});
    std::vector<std::string> writes = cluster_.operator_writes(kNamespace);
    EXPECT_GT(settled, 5U * kModels);
    writes.erase(writes.begin(), writes.begin() + static_cast<std::ptrdiff_t>(std::min(settled, writes.size())));
    EXPECT_TRUE(writes.empty()) << first_of(writes);
  }

  static constexpr const char* kNamespace = "faults";
  RealCluster& cluster_ = RealCluster::instance();
  const std::uint64_t seed_ = std::stoull(environment("INFERENCE_TEST_SEED"));
  const std::string state_ = environment("INFERENCE_TEST_STATE");
  const FaultProxy proxy_{cluster_.server(), state_ + "/pki", state_ + "/logs/faults.log", seed_};
  RandomUser user_{cluster_, kNamespace, seed_};
  int started_ = 0;
  std::unique_ptr<OperatorProcess> operator_;
};

TEST_F(Faults, LeaveNothingLostNothingOrphanedAndNothingTwice) {
  ASSERT_FALSE(HasFailure());
  const auto began = std::chrono::steady_clock::now();
  const auto passed = [&] {
    return std::to_string(std::chrono::duration_cast<seconds>(std::chrono::steady_clock::now() - began).count()) + " s";
  };
  ASSERT_NO_FATAL_FAILURE(rain());
  std::cout << "    " << proxy_.count() << " faults in " << passed() << ", " << started_ << " starts of the operator, "
            << user_.wanted().size() << " of " << user_.created() << " models left" << std::endl;
  ExpectedWorld world(cluster_, kNamespace, user_.wanted(), user_.profile());
  ASSERT_NO_FATAL_FAILURE(expect_settled(world));
  std::cout << "    " << world.children() << " children are as they should be after " << passed() << std::endl;
  const std::vector<std::string> stale = world.stale_children();
  EXPECT_TRUE(stale.empty()) << first_of(stale);
  expect_silence();
  EXPECT_EQ(operator_->stop(SIGTERM), 0);
  close_log();
}

}  // namespace
}  // namespace inference::e2e
