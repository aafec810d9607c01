// Runs the preStop script of templates/drain-hook.yaml for real: under sh, against a small HTTP server, with each
// client that is installed.

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <semaphore>

#include "base/clock.h"
#include "base/json.h"
#include "base/source_path.h"
#include "render/fixtures.h"
#include "render/template_set.h"

namespace inference::render {
namespace {

namespace fs = std::filesystem;

/// Where `program` is on the test's own PATH, shims resolved; empty when it is not installed.
std::string which(const std::string& program) {
  const std::string ask =
      program == "python3" ? "python3 -c 'import sys; print(sys.executable)'" : "command -v " + program;
  FILE* pipe = popen((ask + " 2>/dev/null").c_str(), "r");
  std::string path(256, '\0');
  if (std::fgets(path.data(), static_cast<int>(path.size()), pipe) == nullptr) path.clear();
  pclose(pipe);
  return path.substr(0, path.find('\n'));
}

std::string free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  close(fd);
  return std::to_string(ntohs(address.sin_port));
}

constexpr const char* kIdleMetrics =
    "# TYPE vllm:num_requests_running gauge\n"
    "vllm:num_requests_running{engine=\"0\",model_name=\"a b} 7\"} 0.0\n"
    "vllm:num_requests_waiting{engine=\"0\"} 0.0\n"
    "vllm:num_requests_waiting{engine=\"1\"} 0e+00\n"
    "vllm:num_requests_waiting_by_reason{engine=\"0\",reason=\"capacity\"} 5.0\n";
constexpr const char* kBusySecondSeries =
    "vllm:num_requests_running{engine=\"0\"} 0.0\n"
    "vllm:num_requests_running{engine=\"1\"} 1e+00\n"
    "vllm:num_requests_waiting{engine=\"0\"} 0.0\n";
constexpr const char* kNotANumber =
    "vllm:num_requests_running{engine=\"0\"} NaN\nvllm:num_requests_waiting{engine=\"0\"} 0.0\n";
constexpr const char* kNoSeries = "# HELP process_cpu_seconds_total x\nprocess_cpu_seconds_total 0\n";
constexpr const char* kIdle = R"({"server_load":0})";
constexpr const char* kBusy = R"({"server_load":12})";

/// What is process 1 of the container.
const std::vector<std::string> kPlainProcess{"/bin/sh", "-c", "exec sleep 300"};
const std::vector<std::string> kDeafProcess{"/bin/sh", "-c", "trap '' TERM; exec sleep 300"};
const std::vector<std::string> kShell{"/bin/sh", "-c", "trap : TERM INT; sleep 300; exit $?"};

struct Scenario {
  std::string name;
  Json engine;              // plan of fake_engine.py; null: nobody listens
  Environment environment;  // over the common one
  std::string says;         // part of the hook's log
  std::string asked;  // part of the engine's log; not asked for where a slow machine may reach the bound before the
                      // first request
  bool terminates = false;     // the hook ends the engine itself
  std::string without_client;  // what is said in place of `says` when the image has no HTTP client; empty: not run
  std::vector<std::string> process_1 = kPlainProcess;
};

/// Where the hook must end by the bound, the bound is short; where it must end by itself, the bound is far away, so
/// that a slow machine changes nothing.
std::vector<Scenario> scenarios() {
  const Environment short_bound{{"DRAIN_TIMEOUT_SECONDS", "2"}};
  const auto with = [](Environment base, const Environment& more) {
    base.insert(more.begin(), more.end());
    return base;
  };
  const Environment follow{{"DRAIN_MODE", "follow"}, {"LWS_LEADER_ADDRESS", "127.0.0.1"}};
  return {
      {"IdleAtOnce",
       {{"load", {kIdle}}, {"metrics", {kIdleMetrics}}},
       {},
       "idle after",
       "GET /load",
       false,
       "watching connections"},
      {"BusyThenIdle",
       {{"load", {kBusy, kBusy, kBusy, kIdle}}, {"metrics", {kIdleMetrics}}},
       {},
       "idle after",
       "GET /load",
       false,
       ""},
      {"GaugesAreBusyOnASecondSeries",
       {{"load", {kIdle}}, {"metrics", {kBusySecondSeries}}},
       short_bound,
       "not idle after 3 s",
       "",
       false,
       ""},
      {"GaugesThatAreNoNumberAreNotIdle",
       {{"load", {kIdle}}, {"metrics", {kNotANumber}}},
       short_bound,
       "not idle after 3 s",
       "",
       false,
       ""},
      {"OneZeroReadingIsNotIdle",
       {{"load", {kIdle, kBusy}}, {"metrics", {kIdleMetrics}}},
       short_bound,
       "not idle after 3 s",
       "",
       false,
       ""},
      {"MissingSeriesAreNotIdle",
       {{"load", {kIdle}}, {"metrics", {kNoSeries}}},
       short_bound,
       "not idle after 3 s",
       "",
       false,
       ""},
      {"AnErrorIsNotIdle",
       {{"load", {500}}, {"metrics", {kIdleMetrics}}},
       short_bound,
       "not idle after 3 s",
       "",
       false,
       ""},
      {"AServerThatVanishesIsNotIdle",
       {{"load", {kBusy}}, {"metrics", {kIdleMetrics}}, {"serve", 3}},
       short_bound,
       "not idle after 3 s",
       "",
       false,
       ""},
      {"AServerThatHangsIsNotIdle", {{"hang", true}}, short_bound, "not idle after 3 s", "", false, ""},
      {"NeverServed", nullptr, {}, "never served", "", true, "never served"},
      {"NeverServedAndDeafToSIGTERM", nullptr, {}, "never served", "", true, "never served", kDeafProcess},
      {"NeverServedBehindAShell", nullptr, {}, "never served", "", true, "never served", kShell},
      {"IdleBehindAShell",
       {{"load", {kIdle}}, {"metrics", {kIdleMetrics}}},
       {},
       "idle after",
       "GET /load",
       true,
       "watching connections",
       kShell},
      {"Post", {{"drain", 200}}, {{"DRAIN_MODE", "post"}}, "drained after", "POST /drain", false, ""},
      {"PostThatFailsWatchesConnections",
       {{"drain", 404}},
       {{"DRAIN_MODE", "post"}},
       "failed: watching connections",
       "POST /drain",
       false,
       ""},
      {"ConnectionsThatEnd", {{"hold", 2}}, {{"DRAIN_MODE", "connections"}}, "idle after", "", false, "idle after"},
      {"ConnectionsThatStay",
       {{"hold", 60}},
       with(short_bound, {{"DRAIN_MODE", "connections"}}),
       "not idle after 3 s",
       "",
       false,
       "not idle after 3 s"},
      {"WorkerStaysWithItsLeader", Json::object(), with(short_bound, follow), "the leader still serves after 3 s", "",
       false, "waiting 3 s"},
      {"WorkerGoesAfterItsLeader", {{"serve", 2}}, follow, "the leader is gone", "GET /health", false, ""},
      {"WorkerOfALeaderThatNeverServed", nullptr, follow, "the leader is gone", "", true, ""},
      // A label of 64 characters can't be a name: no DNS server need say so.
      {"WorkerOfALeaderWithoutAName",
       nullptr,
       {{"DRAIN_MODE", "follow"}, {"LWS_LEADER_ADDRESS", std::string(64, 'x')}},
       "the leader is gone",
       "",
       true,
       ""},
      {"PlainWait", Json::object(), {{"DRAIN_MODE", "wait"}}, "", "", false, ""},
      {"PlainWaitOfAWorkerThatNeverServed", nullptr, {{"DRAIN_MODE", "wait"}}, "never served", "", true, ""},
  };
}

struct Outcome {
  int exit_code = -1;
  std::string log, asked, output;
  bool terminated = false;
};

constexpr const char* kNoClient = "no client";
constexpr const char* kClientThatCrashes = "a client that crashes";

bool is_blind(const std::string& client) {
  return client == kNoClient || client == kClientThatCrashes;
}

class Laboratory {
 public:
  Laboratory() {
    std::string pattern = (fs::temp_directory_path() / "drain-hook-XXXXXX").string();
    root_ = mkdtemp(pattern.data());
    const auto* hook = TemplateSet::embedded().find("drain-hook.yaml");
    std::ofstream(root_ / "drain.sh") << hook->root.find("data")->find("drain.sh")->json.get<std::string>();
  }
  ~Laboratory() { fs::remove_all(root_); }

  /// A folder that holds what the script may use, and exactly one HTTP client.
  fs::path bin_of(const std::string& client) {
    const fs::path bin = root_ / ("bin-" + client);
    fs::create_directories(bin);
    for (const std::string tool : {"sleep", "timeout"}) fs::create_symlink(which(tool), bin / tool);
    if (client == kClientThatCrashes) {
      std::ofstream(bin / "curl") << "#!/bin/sh\nkill -SEGV $$\n";
      fs::permissions(bin / "curl", fs::perms::owner_all);
    } else if (client != kNoClient) {
      fs::create_symlink(which(client), bin / client);
    }
    return bin;
  }

  Outcome run(const Scenario& scenario, const std::string& client, const fs::path& bin) {
    const fs::path folder = root_ / (client + "-" + scenario.name);
    fs::create_directories(folder);
    pid_t engine = 0;
    std::string port = free_port();
    if (!scenario.engine.is_null()) {
      engine = start({which("python3"), source_path("render/fake_engine.py"), scenario.engine.dump()}, {},
                     folder / "port", folder / "asked");
      SystemClock clock;
      port.clear();
      for (int tries = 0; tries < 1000 && port.find('\n') == std::string::npos; ++tries) {
        (void)sleep(clock, std::chrono::milliseconds{20}, {});
        port = read_file(folder / "port");
      }
      if (port.empty()) port = "\n";  // it never listened: what the hook then does fails the test
      port.pop_back();
    }
    const pid_t process_1 = start(scenario.process_1, {}, "/dev/null", "/dev/null");
    Environment environment{{"PATH", bin.string()},
                            {"DRAIN_PORT", port},
                            {"DRAIN_PID", std::to_string(process_1)},
                            {"DRAIN_LOG", (folder / "log").string()},
                            {"DRAIN_WAIT_SECONDS", "1"},
                            {"DRAIN_TIMEOUT_SECONDS", "120"},
                            {"DRAIN_IDLE_SECONDS", "1"},
                            {"DRAIN_POLL_SECONDS", "0.1"},
                            {"DRAIN_LOAD_PATH", "/load"},
                            {"DRAIN_METRICS_PATH", "/metrics"},
                            {"DRAIN_GAUGES", "vllm:num_requests_running vllm:num_requests_waiting"},
                            {"http_proxy", "http://127.0.0.1:9"}};
    for (const auto& [name, value] : scenario.environment) environment[name] = value;
    Outcome outcome;
    outcome.exit_code =
        wait_for(start({"/bin/sh", (root_ / "drain.sh").string()}, environment, folder / "out", folder / "err"));
    if (!scenario.terminates) kill(process_1, SIGKILL);
    const int end = wait_for(process_1);
    outcome.terminated = end == 128 + SIGTERM || end == 128 + SIGINT;
    if (engine != 0) {
      kill(engine, SIGKILL);
      wait_for(engine);
    }
    outcome.log = read_file(folder / "log");
    outcome.asked = read_file(folder / "asked");
    outcome.output = read_file(folder / "err");
    return outcome;
  }

 private:
  fs::path root_;
};

std::vector<std::string> clients() {
  std::vector<std::string> present{kNoClient, kClientThatCrashes};
  for (const std::string client : {"curl", "wget", "python3"}) {
    if (!which(client).empty()) present.push_back(client);
  }
  return present;
}

/// All runs at once: most of each is waiting.
const std::map<std::pair<std::string, std::string>, Outcome>& outcomes() {
  static const auto all = [] {
    Laboratory laboratory;
    std::counting_semaphore<> places(8);
    std::map<std::pair<std::string, std::string>, std::future<Outcome>> running;
    for (const std::string& client : clients()) {
      const fs::path bin = laboratory.bin_of(client);
      for (const Scenario& scenario : scenarios()) {
        if (is_blind(client) && scenario.without_client.empty()) continue;
        running[{client, scenario.name}] =
            std::async(std::launch::async, [&laboratory, &places, scenario, client, bin] {
              places.acquire();
              Outcome outcome = laboratory.run(scenario, client, bin);
              places.release();
              return outcome;
            });
      }
    }
    std::map<std::pair<std::string, std::string>, Outcome> done;
    for (auto& [key, future] : running) done[key] = future.get();
    return done;
  }();
  return all;
}

class DrainHook : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Clients, DrainHook, testing::ValuesIn(clients()), [](const auto& info) {
  if (info.param == kClientThatCrashes) return std::string("crashing");
  return info.param == kNoClient ? "without_a_client" : info.param;
});

TEST_P(DrainHook, EndsAsItShouldInEveryScenario) {
  for (const Scenario& scenario : scenarios()) {
    const auto found = outcomes().find({GetParam(), scenario.name});
    if (found == outcomes().end()) continue;
    const Outcome& outcome = found->second;
    SCOPED_TRACE(scenario.name + "\nlog: " + outcome.log + "\nasked: " + outcome.asked + "\noutput: " + outcome.output);
    const bool blind = is_blind(GetParam());
    const std::string& says = blind ? scenario.without_client : scenario.says;
    EXPECT_EQ(outcome.exit_code, says.starts_with("not idle") ? 1 : 0);
    EXPECT_NE(outcome.log.find(says), std::string::npos);
    if (!blind) {
      EXPECT_NE(outcome.asked.find(scenario.asked), std::string::npos);
    }
    EXPECT_EQ(outcome.terminated, scenario.terminates);
    EXPECT_EQ(outcome.output, "");
  }
}

TEST(DrainHookScript, PassesShellcheck) {
  ASSERT_FALSE(which("shellcheck").empty()) << "shellcheck is not installed: ./dev test installs it";
  const auto* hook = TemplateSet::embedded().find("drain-hook.yaml");
  FILE* pipe = popen("shellcheck -s sh -", "w");
  const std::string script = hook->root.find("data")->find("drain.sh")->json.get<std::string>();
  std::fwrite(script.data(), 1, script.size(), pipe);
  EXPECT_EQ(pclose(pipe), 0);
}

}  // namespace
}  // namespace inference::render
