#include "operator/runtime/leader_elector.h"

#include <gtest/gtest.h>

#include "base/fake_clock.h"

namespace inference::runtime {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

client::ApiError error_of(int code, const std::string& reason) {
  return {.kind = client::ApiError::Kind::kStatus, .code = code, .reason = reason, .message = reason};
}

// One Lease behind a connection that can break. All that it knows of an API server is that a write must know the last
// one; e2e/leader_election_test.cc proves that of the real one.
class LeaseServer {
 public:
  LeaseCalls calls() {
    return {
        .get = [this](std::stop_token stop) { return answer(stop, [](Json& lease) { return lease; }); },
        .create =
            [this](const Json& wanted, std::stop_token stop) {
              return answer(stop, [&](Json& lease) -> LeaseCalls::Answer {
                if (!lease.is_null()) return std::unexpected(error_of(409, "AlreadyExists"));
                return store(lease, wanted);
              });
            },
        .update =
            [this](const Json& wanted, std::stop_token stop) {
              return answer(stop, [&](Json& lease) -> LeaseCalls::Answer {
                if (!lease.is_null() && lease["metadata"]["resourceVersion"] != wanted["metadata"]["resourceVersion"])
                  return std::unexpected(error_of(409, "Conflict"));
                return store(lease, wanted);
              });
            }};
  }

  enum class Connection { kGood, kRefuses, kHangs };
  void set(Connection connection) {
    const std::scoped_lock lock(mutex_);
    connection_ = connection;
    changed_.notify_all();
  }
  /// What another process writes; null: it deletes the Lease.
  void write(const Json& spec) {
    const std::scoped_lock lock(mutex_);
    if (spec.is_null()) {
      lease_ = nullptr;
    } else {
      (void)store(lease_, {{"metadata", Json::object()}, {"spec", spec}});
    }
  }
  void write_by(const std::string& holder, const std::string& renewed) {
    write({{"holderIdentity", holder}, {"leaseDurationSeconds", 15}, {"renewTime", renewed}, {"leaseTransitions", 7}});
  }
  void label() {
    const std::scoped_lock lock(mutex_);
    (void)store(lease_, lease_);
  }
  [[nodiscard]] Json spec() {
    const std::scoped_lock lock(mutex_);
    return lease_.is_null() ? Json() : lease_["spec"];
  }
  [[nodiscard]] bool wait_for_calls(int count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, seconds{60}, [&] { return calls_ >= count; });
  }
  [[nodiscard]] int count() {
    const std::scoped_lock lock(mutex_);
    return calls_;
  }

 private:
  LeaseCalls::Answer answer(std::stop_token stop, const std::function<LeaseCalls::Answer(Json&)>& act) {
    std::unique_lock lock(mutex_);
    ++calls_;
    changed_.notify_all();
    if (!changed_.wait(lock, stop, [this] { return connection_ != Connection::kHangs; }))
      return std::unexpected(client::ApiError{.kind = client::ApiError::Kind::kCancelled});
    if (connection_ == Connection::kRefuses)
      return std::unexpected(client::ApiError{.kind = client::ApiError::Kind::kConnect, .message = "refused"});
    LeaseCalls::Answer result = act(lease_);
    if (result.has_value() && result->is_null()) return std::unexpected(error_of(404, "NotFound"));
    return result;
  }
  LeaseCalls::Answer store(Json& lease, Json wanted) {
    wanted["metadata"]["resourceVersion"] = std::to_string(++version_);
    lease = std::move(wanted);
    return lease;
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  Json lease_;  // guarded by mutex_, like the rest
  int version_ = 0;
  int calls_ = 0;
  Connection connection_ = Connection::kGood;
};

using Connection = LeaseServer::Connection;

class ElectorTest : public ::testing::Test {
 protected:
  // Its own first try has been made, and it sleeps.
  void start() {
    elector_.start();
    settle();
  }
  void settle() { ASSERT_TRUE(clock_.wait_for_sleepers(1)); }
  void pass(Duration duration) {
    clock_.advance(duration);
    settle();
  }
  /// To the next moment at which the elector does something, in steps that are shorter than its jitter.
  void pass_in_steps(Duration duration) {
    for (; duration > Duration::zero(); duration -= milliseconds{500}) pass(milliseconds{500});
  }
  [[nodiscard]] bool metric_says_leader() {
    return metrics_.to_text().find("leader_election_master_status{name=\"op\"} 1") != std::string::npos;
  }

  FakeClock clock_;
  SeededRandom random_{1};
  Metrics metrics_;
  LeaseServer server_;
  LeaderElector elector_{
      {.lease = {"ns", "op"}, .identity = "me"}, server_.calls(), metrics_.leader("op"), clock_, random_};
};

TEST_F(ElectorTest, CreatesALeaseThatIsNotThereAndLeads) {
  EXPECT_FALSE(elector_.may_write());
  EXPECT_FALSE(metric_says_leader());
  start();
  EXPECT_TRUE(elector_.wait_leading({}));
  EXPECT_TRUE(elector_.may_write());
  EXPECT_TRUE(metric_says_leader());
  const Json spec = server_.spec();
  EXPECT_EQ(spec["holderIdentity"], "me");
  EXPECT_EQ(spec["leaseDurationSeconds"], 15);
  EXPECT_EQ(spec["leaseTransitions"], 0);
  EXPECT_EQ(spec["renewTime"], to_rfc3339_micro(clock_.wall_now()));
}

TEST_F(ElectorTest, RenewsEveryRetryPeriodAndKeepsWhenItWasAcquired) {
  start();
  const Json acquired = server_.spec()["acquireTime"];
  for (int i = 0; i < 20; ++i) pass(seconds{2});
  EXPECT_TRUE(elector_.may_write());
  EXPECT_EQ(server_.count(), 22);  // the look, the creation, the renewals
  EXPECT_EQ(server_.spec()["acquireTime"], acquired);
  EXPECT_EQ(server_.spec()["renewTime"], to_rfc3339_micro(clock_.wall_now()));
  EXPECT_EQ(server_.spec()["leaseTransitions"], 0);
}

TEST_F(ElectorTest, TakesAnothersLeaseOnlyAfterItsDurationWithoutAChange) {
  server_.write_by("other", "1999-01-01T00:00:00Z");  // old by its own clock, which says nothing
  start();
  pass_in_steps(seconds{10});
  server_.write_by("other", "1999-01-01T00:00:10Z");
  pass_in_steps(milliseconds{14500});
  EXPECT_FALSE(elector_.may_write());
  EXPECT_EQ(server_.spec()["holderIdentity"], "other");
  pass_in_steps(seconds{3});  // noticed within a retry period, then the duration
  EXPECT_TRUE(elector_.may_write());
  EXPECT_EQ(server_.spec()["holderIdentity"], "me");
  EXPECT_EQ(server_.spec()["leaseTransitions"], 8);
}

TEST_F(ElectorTest, LooksWithinARetryPeriodAndOnceMoreWhenTheRecordRunsOut) {
  server_.write_by("other", "a");
  start();
  int seen = server_.count();
  for (int i = 0; i < 7; ++i) {
    pass(seconds{2});
    EXPECT_EQ(server_.count(), ++seen);
  }
  pass(seconds{1});  // 15 s
  EXPECT_TRUE(elector_.may_write());
}

TEST_F(ElectorTest, TakesAReleasedLeaseAtTheNextLook) {
  server_.write_by("other", "a");
  start();
  server_.write({{"holderIdentity", ""}, {"leaseDurationSeconds", 1}, {"leaseTransitions", 7}});
  pass(seconds{2});
  EXPECT_TRUE(elector_.may_write());
}

TEST_F(ElectorTest, TreatsALeaseThatVanishedAsHeldUntilItWouldHaveRunOut) {
  server_.write_by("other", "a");
  start();
  server_.write(nullptr);
  pass_in_steps(milliseconds{14500});
  EXPECT_FALSE(elector_.may_write());
  EXPECT_TRUE(server_.spec().is_null());
  pass_in_steps(seconds{1});
  EXPECT_TRUE(elector_.may_write());
}

TEST_F(ElectorTest, ReadsALeaseThatPeopleHaveSpoiltAsFree) {
  server_.write({{"holderIdentity", 5}, {"leaseDurationSeconds", "long"}, {"leaseTransitions", -3}});
  start();
  EXPECT_TRUE(elector_.may_write());
  EXPECT_EQ(server_.spec()["leaseTransitions"], 1);
}

TEST_F(ElectorTest, ClosesTheFenceBeforeItsOwnThreadHasNoticedThatTimeHasPassed) {
  start();
  // As after SIGCONT: this thread runs first. The elector's is held up in a call.
  server_.set(Connection::kHangs);
  clock_.advance(seconds{2});
  ASSERT_TRUE(server_.wait_for_calls(3));
  clock_.advance(milliseconds{7999});
  EXPECT_TRUE(elector_.may_write());
  clock_.advance(milliseconds{1});
  EXPECT_FALSE(elector_.may_write());
  EXPECT_EQ(elector_.wait_lost({}).error(), "lost the lease ns/op: not renewed in time");
  EXPECT_FALSE(metric_says_leader());
  // The answer that comes now opens nothing again.
  server_.set(Connection::kGood);
  EXPECT_TRUE(elector_.stop(clock_.now() + seconds{60}));
  EXPECT_FALSE(elector_.may_write());
}

TEST_F(ElectorTest, CountsTheRenewDeadlineFromWhenTheRenewalWasSent) {
  start();
  server_.set(Connection::kHangs);
  clock_.advance(seconds{2});
  ASSERT_TRUE(server_.wait_for_calls(3));
  clock_.advance(seconds{5});  // on the way
  server_.set(Connection::kGood);
  // The answer settles that renewal, and the next, overdue, follows at once.
  ASSERT_TRUE(server_.wait_for_calls(4));
  settle();
  server_.set(Connection::kRefuses);
  pass(seconds{2});
  clock_.advance(milliseconds{7999});
  EXPECT_TRUE(elector_.may_write());
  clock_.advance(milliseconds{1});
  EXPECT_FALSE(elector_.may_write());
}

TEST_F(ElectorTest, TriesAgainUntilTheDeadlineAndThenSaysWhatWentWrong) {
  start();
  server_.set(Connection::kRefuses);
  for (int i = 0; i < 4; ++i) pass(seconds{2});
  EXPECT_EQ(server_.count(), 6);
  EXPECT_TRUE(elector_.may_write());
  clock_.advance(seconds{2});
  const auto lost = elector_.wait_lost({});
  ASSERT_FALSE(lost.has_value());
  EXPECT_TRUE(lost.error().starts_with("lost the lease ns/op: not renewed in time (")) << lost.error();
  EXPECT_NE(lost.error().find("refused"), std::string::npos) << lost.error();
  EXPECT_TRUE(elector_.stop(clock_.now() + seconds{60}));
}

TEST_F(ElectorTest, OutlivesAnOutageThatIsShorterThanTheDeadline) {
  start();
  server_.set(Connection::kRefuses);
  pass(seconds{2});
  pass(seconds{2});
  server_.set(Connection::kGood);
  for (int i = 0; i < 6; ++i) pass(seconds{2});
  EXPECT_TRUE(elector_.may_write());
}

TEST_F(ElectorTest, GivesUpAtOnceWhenAnotherHoldsTheLease) {
  start();
  server_.write_by("other", "a");
  clock_.advance(seconds{2});
  const auto lost = elector_.wait_lost({});
  ASSERT_FALSE(lost.has_value());
  EXPECT_EQ(lost.error(), "lost the lease ns/op: other holds it now");
  EXPECT_TRUE(elector_.stop(clock_.now() + seconds{60}));
  EXPECT_EQ(server_.spec()["holderIdentity"], "other");
}

TEST_F(ElectorTest, GoesOnWhenSomeoneElseTouchedTheLeaseWithoutTakingIt) {
  start();
  server_.label();
  pass(seconds{2});
  pass(seconds{2});
  EXPECT_TRUE(elector_.may_write());
  EXPECT_EQ(server_.spec()["leaseTransitions"], 0);
}

TEST_F(ElectorTest, ReleasesTheLeaseAtTheEnd) {
  start();
  pass(seconds{2});
  EXPECT_TRUE(elector_.stop(clock_.now() + seconds{60}));
  EXPECT_FALSE(elector_.may_write());
  EXPECT_FALSE(metric_says_leader());
  EXPECT_EQ(server_.spec()["holderIdentity"], "");
  EXPECT_EQ(server_.spec()["leaseDurationSeconds"], 1);
  EXPECT_EQ(server_.spec()["leaseTransitions"], 0);
}

TEST_F(ElectorTest, ReleasesTheLeaseThoughItsVersionHasChanged) {
  start();
  server_.label();
  EXPECT_TRUE(elector_.stop(clock_.now() + seconds{60}));
  EXPECT_EQ(server_.spec()["holderIdentity"], "");
}

TEST_F(ElectorTest, ReleasesNothingThatAnotherHolds) {
  start();
  server_.write_by("other", "a");
  EXPECT_TRUE(elector_.stop(clock_.now() + seconds{60}));
  EXPECT_EQ(server_.spec()["holderIdentity"], "other");
}

TEST_F(ElectorTest, CancelsAReleaseThatDoesNotEnd) {
  start();
  server_.set(Connection::kHangs);
  EXPECT_TRUE(elector_.stop(clock_.now()));
  EXPECT_EQ(server_.spec()["holderIdentity"], "me");
}

TEST_F(ElectorTest, IsUnhealthyWhenTheProcessStaysLongAfterItsLease) {
  EXPECT_TRUE(elector_.alive().has_value());
  start();
  server_.set(Connection::kHangs);
  clock_.advance(seconds{2});
  ASSERT_TRUE(server_.wait_for_calls(3));
  clock_.advance(seconds{32});  // the lease's 15 s from the last renewal, and 20
  EXPECT_TRUE(elector_.alive().has_value());
  clock_.advance(seconds{1});
  EXPECT_FALSE(elector_.alive().has_value());
}

TEST(LeaderElectorOptions, MustFitTogether) {
  const auto problem = [](LeaderElectorOptions options) {
    const auto checked = check(options);
    return checked.has_value() ? "" : checked.error();
  };
  EXPECT_EQ(problem({}), "");
  EXPECT_EQ(problem({.renew_deadline = seconds{15}}), "lease duration (15s) must be above renew deadline (15s)");
  EXPECT_EQ(problem({.retry_period = seconds{10}}), "renew deadline (10s) must be above retry period (10s)");
  EXPECT_EQ(problem({.retry_period = seconds{0}}), "retry period must be above 0s");
  EXPECT_EQ(problem({.lease_duration = milliseconds{15500}}), "lease duration (15500ms) must be whole seconds");
}

}  // namespace
}  // namespace inference::runtime
