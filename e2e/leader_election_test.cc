// Two replicas of the operator on the real API server, and what can befall the one that leads. Who wrote when is read
// from the API server's audit log, whose clock is the same for both.
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <map>
#include <thread>

#include "e2e/model.h"
#include "e2e/real_cluster.h"
#include "e2e/silent_forwarder.h"

namespace inference::e2e {
namespace {

using namespace client::resources;

constexpr double kLeaseSeconds = 15;  // the defaults, of which a loaded machine keeps the renew deadline of 10 s
constexpr double kRetrySeconds = 2;
constexpr double kSlackSeconds = 2;  // to take over beyond the lease
constexpr int kModels = 10;

/// RFC 3339 in UTC, as the audit log has it.
double to_seconds(const std::string& time) {
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  int hour = 0;
  int minute = 0;
  double second = 0;
  EXPECT_EQ(std::sscanf(time.c_str(), "%d-%u-%uT%d:%d:%lf", &year, &month, &day, &hour, &minute, &second), 6) << time;
  const std::chrono::sys_days date = std::chrono::year{year} / static_cast<int>(month) / static_cast<int>(day);
  return static_cast<double>(date.time_since_epoch().count()) * 86400 + hour * 3600 + minute * 60 + second;
}

/// How long this machine has stood still, or was too busy to wake a thread: a virtual machine is paused now and then,
/// and nobody takes over in that time.
class StandStill {
 public:
  [[nodiscard]] double seconds() const { return seconds_; }

 private:
  void watch(const std::stop_token& stop) {
    constexpr std::chrono::milliseconds kNap{100};
    while (!stop.stop_requested()) {
      const TimePoint began = clock_.now();
      (void)sleep(clock_, kNap, stop);
      const std::chrono::duration<double> late = clock_.now() - began - kNap;
      if (late > kNap) seconds_ = seconds_ + late.count();
    }
  }

  SystemClock clock_;
  std::atomic<double> seconds_ = 0;
  std::jthread thread_{[this](const std::stop_token& stop) { watch(stop); }};
};

/// What one process wrote; 0 when it wrote nothing of the kind.
struct Replica {
  std::string agent;    // the process's identity is part of it
  double led_from = 0;  // its first and last successful write of the Lease
  double led_until = 0;
  double first_began = 0;  // of all its other writes
  double last_ended = 0;
};

/// Those that have led since the audit log had `skip` entries, in the order in which they came to lead.
std::vector<Replica> leaders(const RealCluster& cluster, std::size_t skip) {
  std::map<std::string, Replica> by_agent;
  const std::vector<Json> audit = cluster.operator_audit();
  for (std::size_t index = skip; index < audit.size(); ++index) {
    const Json& event = audit[index];
    // Refused, or given up half-way: a replica can be stopped while it sends, and nothing comes of that request.
    if (event.value("/responseStatus/code"_json_pointer, 0) >= 300) continue;
    Replica& replica = by_agent[event.value("userAgent", "")];
    replica.agent = event.value("userAgent", "");
    const double began = to_seconds(event.value("requestReceivedTimestamp", ""));
    const double ended = to_seconds(event.value("stageTimestamp", ""));
    if (event.value("/objectRef/resource"_json_pointer, "") == "leases") {
      if (replica.led_from == 0) replica.led_from = began;
      replica.led_until = std::max(replica.led_until, ended);
    } else {
      if (replica.first_began == 0 || began < replica.first_began) replica.first_began = began;
      replica.last_ended = std::max(replica.last_ended, ended);
    }
  }
  std::vector<Replica> all;
  for (auto& [agent, replica] : by_agent) all.push_back(std::move(replica));
  std::ranges::sort(all, {}, &Replica::led_from);
  return all;
}

class LeaderElection : public testing::Test {
 protected:
  void SetUp() override {
    first_ = start();
    ASSERT_TRUE(leads(*first_)) << first_->log();
  }
  void TearDown() override {
    if (HasFailure()) std::cerr << log_of(first_) << "----\n" << log_of(second_);
  }

  static std::string log_of(const std::unique_ptr<OperatorProcess>& process) {
    return process ? process->log().substr(0, 20000) : "";
  }
  static std::unique_ptr<OperatorProcess> start(const std::string& server = {}) {
    OperatorOptions options{.server = server, .old_lease = OperatorOptions::OldLease::kRespect};
    return std::make_unique<OperatorProcess>(RealCluster::instance(), options);
  }
  static bool leads(const OperatorProcess& process) {
    return eventually([&] { return process.log().find("workers started") != std::string::npos; });
  }
  /// A second replica, with whole caches.
  void start_standby() {
    second_ = start();
    ASSERT_TRUE(eventually([&] { return second_->log().find("waiting for the lease") != std::string::npos; }))
        << second_->log();
  }
  void apply_models(int drain_seconds) {
    for (int index = 0; index < kModels; ++index) {
      cluster_.apply(model(namespace_.name(), "m" + std::to_string(index),
                           {{"suspend", true}, {"drain", {{"timeoutSeconds", drain_seconds}}}}));
    }
  }
  /// The grace period is the drain's and a constant.
  [[nodiscard]] bool applied(int drain_seconds) {
    return eventually([&] {
      int count = 0;
      for (const Json& deployment : cluster_.list(kDeployment, namespace_.name())) {
        const int grace = deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"];
        if (grace >= drain_seconds && grace < drain_seconds + 100) ++count;
      }
      return count == kModels;
    });
  }
  [[nodiscard]] std::string holder() {
    return cluster_.get(kLease, "inference-system", "inference-operator")["spec"].value("holderIdentity", "");
  }
  /// Two processes have led, the second within `limit` seconds of the first's last renewal or release, and the first
  /// had written its last before the second even asked to lead.
  void expect_hand_over(double limit) {
    const std::vector<Replica> all = leaders(cluster_, audited_);
    ASSERT_EQ(all.size(), 2U);
    EXPECT_NE(all[0].agent, all[1].agent);
    EXPECT_GT(all[0].led_from, 0);
    EXPECT_GT(all[0].first_began, 0);
    EXPECT_GT(all[1].first_began, 0);
    EXPECT_LT(all[0].last_ended, all[1].led_from);
    EXPECT_GE(all[1].first_began, all[1].led_from);
    EXPECT_LT(all[0].led_until, all[1].led_from);
    EXPECT_LE(all[1].led_from - all[0].led_until, limit + stood_still_.seconds());
    std::cout << "    taken over after " << all[1].led_from - all[0].led_until << " s\n";
  }

  RealCluster& cluster_ = RealCluster::instance();
  const std::size_t audited_ = cluster_.operator_audit().size();
  Namespace namespace_{cluster_, "leader"};
  StandStill stood_still_;
  std::unique_ptr<OperatorProcess> first_;
  std::unique_ptr<OperatorProcess> second_;
};

TEST_F(LeaderElection, AnotherTakesOverWhenTheLeaderIsKilled) {
  start_standby();
  apply_models(300);
  ASSERT_TRUE(applied(300));
  EXPECT_EQ(first_->stop(SIGKILL), 128 + SIGKILL);
  apply_models(600);
  EXPECT_TRUE(applied(600));
  expect_hand_over(kLeaseSeconds + kSlackSeconds);
}

TEST_F(LeaderElection, ALeaderThatWasPausedPastItsLeaseWritesNothingAndEnds) {
  start_standby();
  apply_models(300);
  ASSERT_TRUE(applied(300));
  const std::string paused = holder();
  first_->send(SIGSTOP);
  apply_models(600);
  EXPECT_TRUE(applied(600));
  EXPECT_NE(holder(), paused);
  // All that it has missed comes at once, and each change is one that it would write for.
  apply_models(900);
  first_->send(SIGCONT);
  EXPECT_EQ(first_->wait(), 1);
  EXPECT_NE(first_->log().find("lost the lease inference-system/inference-operator"), std::string::npos);
  EXPECT_TRUE(applied(900));
  expect_hand_over(kLeaseSeconds + kSlackSeconds);
}

TEST_F(LeaderElection, ALeaderThatIsCutOffWritesNothingMoreAndEnds) {
  EXPECT_EQ(first_->stop(SIGTERM), 0);
  const std::string server = cluster_.server();
  SilentForwarder forwarder(std::stoi(server.substr(server.rfind(':') + 1)));
  first_ = start("https://127.0.0.1:" + std::to_string(forwarder.port()));
  ASSERT_TRUE(leads(*first_)) << first_->log();
  start_standby();
  apply_models(300);
  ASSERT_TRUE(applied(300));
  forwarder.swallow();
  apply_models(600);
  EXPECT_EQ(first_->wait(), 1);
  EXPECT_NE(first_->log().find("not renewed in time"), std::string::npos);
  EXPECT_TRUE(applied(600));
  const std::vector<Replica> all = leaders(cluster_, audited_);
  ASSERT_EQ(all.size(), 3U);  // the one that gave way to the forwarder's came first
  EXPECT_LT(all[1].last_ended, all[2].led_from);
  EXPECT_LE(all[2].led_from - all[1].led_until, kLeaseSeconds + kSlackSeconds + stood_still_.seconds());
}

TEST_F(LeaderElection, ALeaderThatEndsInOrderHandsOverAtOnce) {
  start_standby();
  apply_models(300);
  ASSERT_TRUE(applied(300));
  EXPECT_EQ(first_->stop(SIGTERM), 0);
  apply_models(600);
  EXPECT_TRUE(applied(600));
  expect_hand_over(kRetrySeconds + kSlackSeconds);
}

}  // namespace
}  // namespace inference::e2e
