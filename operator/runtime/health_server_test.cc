#include "operator/runtime/health_server.h"

#include <gtest/gtest.h>

#include <atomic>

#include "operator/runtime/testing/plain_http.h"

namespace inference::runtime {
namespace {

using testing::ask;
using testing::get;

bool has_status(const std::string& answer, int status) {
  return answer.starts_with("HTTP/1.1 " + std::to_string(status) + " ");
}

class HealthServerTest : public ::testing::Test {
 protected:
  std::atomic<bool> alive_ = true;
  std::atomic<bool> ready_ = false;

  HealthChecks checks() {
    const auto verdict = [](bool good, const char* why) {
      return good ? std::expected<void, std::string>{} : std::unexpected(std::string(why));
    };
    return {.alive = [this, verdict] { return verdict(alive_, "a worker is gone"); },
            .ready = [this, verdict] { return verdict(ready_, "waiting for Pod"); },
            .metrics = [] { return std::string("up 1\n"); }};
  }
};

TEST_F(HealthServerTest, AnswersProbesAndMetrics) {
  const auto server = HealthServer::start("127.0.0.1:0", checks());
  ASSERT_TRUE(server.has_value()) << server.error();
  const int port = (*server)->port();
  ASSERT_GT(port, 0);
  EXPECT_TRUE(has_status(get(port, "/healthz"), 200));
  const std::string waiting = get(port, "/readyz");
  EXPECT_TRUE(has_status(waiting, 503));
  EXPECT_TRUE(waiting.ends_with("\r\n\r\nwaiting for Pod\n")) << waiting;
  ready_ = true;
  EXPECT_TRUE(get(port, "/readyz").ends_with("\r\n\r\nok\n"));
  alive_ = false;
  EXPECT_TRUE(has_status(get(port, "/healthz?verbose"), 503));
  EXPECT_TRUE(get(port, "/metrics").ends_with("\r\n\r\nup 1\n"));
}

TEST_F(HealthServerTest, RefusesEverythingElseOnAllInterfaces) {
  const auto server = HealthServer::start(":0", checks());
  ASSERT_TRUE(server.has_value()) << server.error();
  const int port = (*server)->port();
  EXPECT_TRUE(has_status(get(port, "/"), 404));
  EXPECT_TRUE(has_status(get(port, "/healthz/x"), 404));
  EXPECT_TRUE(has_status(get(port, "/../../etc/passwd"), 404));
  EXPECT_TRUE(has_status(ask(port, "POST /healthz HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"), 405));
  EXPECT_FALSE(has_status(ask(port, "nonsense\r\n\r\n"), 200));
}

TEST_F(HealthServerTest, NamesTheAddressThatItCannotHave) {
  for (const char* address : {"", "8080", "localhost:", ":x", ":70000", "127.0.0.1:-1"}) {
    const auto server = HealthServer::start(address, checks());
    ASSERT_FALSE(server.has_value()) << address;
    const auto checked = HealthServer::check(address);
    ASSERT_FALSE(checked.has_value()) << address;
    EXPECT_EQ(checked.error(), server.error());
    EXPECT_NE(server.error().find("\"" + std::string(address) + "\""), std::string::npos) << server.error();
  }
  const auto first = HealthServer::start("127.0.0.1:0", checks());
  ASSERT_TRUE(first.has_value()) << first.error();
  const std::string taken = "127.0.0.1:" + std::to_string((*first)->port());
  const auto second = HealthServer::start(taken, checks());
  ASSERT_FALSE(second.has_value());
  EXPECT_NE(second.error().find(taken), std::string::npos) << second.error();
  EXPECT_NE(second.error().find("Address already in use"), std::string::npos) << second.error();
  EXPECT_TRUE(HealthServer::check(taken).has_value()) << "only start can know";
  const auto all = HealthServer::start(":" + std::to_string((*first)->port()), checks());
  ASSERT_FALSE(all.has_value());
  EXPECT_NE(all.error().find("Address already in use"), std::string::npos) << all.error();
  const auto unknown = HealthServer::start("no-such-host.invalid:0", checks());
  ASSERT_FALSE(unknown.has_value());
  EXPECT_FALSE(unknown.error().ends_with(": ")) << unknown.error();
}

}  // namespace
}  // namespace inference::runtime
