#include "reconcilers/missing_rights.h"

#include <gtest/gtest.h>

#include "base/fake_clock.h"

namespace inference::reconcilers {
namespace {

using std::chrono::seconds;

TEST(MissingRights, LastOnlyOnceEveryReconcileOfTenSecondsWasRefused) {
  FakeClock clock;
  MissingRights rights(clock);
  const client::ObjectRef ref{"llm", "m"};
  EXPECT_FALSE(rights.last(ref));
  EXPECT_FALSE(rights.last(ref)) << "twice in one reconcile is no longer";
  rights.reconciled(ref);
  clock.advance(seconds{9});
  EXPECT_FALSE(rights.last(ref));
  rights.reconciled(ref);
  clock.advance(seconds{1});
  EXPECT_TRUE(rights.last(ref));
  rights.reconciled(ref);
  clock.advance(seconds{60});
  EXPECT_TRUE(rights.last(ref)) << "seldom asked is not granted";
  rights.reconciled(ref);
  EXPECT_FALSE(rights.last({"llm", "other"}));
}

TEST(MissingRights, AreForgottenByAReconcileThatIsNotRefused) {
  FakeClock clock;
  MissingRights rights(clock);
  const client::ObjectRef ref{"llm", "m"};
  EXPECT_FALSE(rights.last(ref));
  rights.reconciled(ref);
  rights.reconciled(ref);
  clock.advance(seconds{60});
  EXPECT_FALSE(rights.last(ref));
}

}  // namespace
}  // namespace inference::reconcilers
