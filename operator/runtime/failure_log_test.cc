#include "operator/runtime/failure_log.h"

#include <gtest/gtest.h>

#include "base/fake_clock.h"

namespace inference::runtime {
namespace {

using std::chrono::seconds;

/// The lines that `act` logs.
std::vector<std::string> lines_of(const std::function<void()>& act) {
  testing::internal::CaptureStderr();
  act();
  std::istringstream text(testing::internal::GetCapturedStderr());
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

TEST(FailureLog, TellsOneCauseOnceForAllKindsAndAgainWhenItLasts) {
  FakeClock clock;
  FailureLog log(clock);
  EXPECT_EQ(lines_of([&] {
              for (const char* kind : {"Pod", "Service", "ConfigMap"}) log.note(kind, "empty", "refused");
            }).size(),
            1U);
  clock.advance(seconds{31});
  const auto later = lines_of([&] {
    log.note("Pod", "empty", "refused");
    log.note("Service", "empty", "refused");
  });
  ASSERT_EQ(later.size(), 1U);
  EXPECT_NE(later[0].find("kinds=3"), std::string::npos) << later[0];
}

TEST(FailureLog, TellsEachCauseByItself) {
  FakeClock clock;
  FailureLog log(clock);
  EXPECT_EQ(lines_of([&] {
              log.note("Pod", "empty", "pods is forbidden");
              log.note("Service", "empty", "services is forbidden");
            }).size(),
            2U);
}

}  // namespace
}  // namespace inference::runtime
