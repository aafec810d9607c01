// Cost of the HTTP transports: calls by four threads and one watch, against a TLS server in a process of its own. Only
// this process' CPU time counts. The transports take turns, so that whatever else the machine does meets both.
#include <spdlog/fmt/fmt.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "operator/client/testing/fake_http_server.h"
#include "operator/client/testing/test_certificates.h"
#include "operator/client/transport_cpprest.h"
#include "operator/client/transport_curl.h"

namespace inference::client {
namespace {

constexpr int kRounds = 9;
constexpr int kThreads = 4;
constexpr int kCallsPerThread = 500;
constexpr std::size_t kObjectBytes = 3000;  // a small Deployment as the API server sends it
constexpr std::size_t kEventBytes = 4000;
constexpr std::size_t kWatchBytes = std::size_t{64} * 1024 * 1024;

struct Kind {
  const char* name;
  std::expected<std::unique_ptr<HttpTransport>, std::string> (*make)(TransportOptions, Clock&);
};
constexpr Kind kKinds[] = {{"cpprest", make_cpprest_transport}, {"curl", make_curl_transport}};

struct Workload {
  const char* name;
  HttpRequest request;
  int threads;
  int calls;  // of each thread
};

std::vector<Workload> workloads() {
  HttpRequest get{.method = "GET", .target = "/object", .replay = HttpRequest::Replay::kIfHarmless};
  HttpRequest patch = get;
  patch.method = "PATCH";
  patch.headers = {{"Content-Type", "application/apply-patch+yaml"}};
  patch.body = std::string(kObjectBytes, 'x');
  HttpRequest watch = get;
  watch.target = "/watch";
  watch.use = HttpRequest::Use::kStream;
  watch.max_response_bytes = 2 * kWatchBytes;
  return {{"GET", get, kThreads, kCallsPerThread}, {"PATCH", patch, kThreads, kCallsPerThread}, {"watch", watch, 1, 1}};
}

void answer(FakeConnection& connection, const FakeRequest& request) {
  static const std::string object(kObjectBytes, 'x');
  static const std::string event(kEventBytes, 'x');
  if (request.target != "/watch") return connection.respond(200, object);
  connection.begin_chunked(200);
  for (std::size_t sent = 0; sent < kWatchBytes; sent += event.size()) connection.chunk(event);
  connection.end_chunked();
}

/// The server's process ends with this one's pipe. Returns its port.
int start_server(const TestCertificate& certificate) {
  int from_server[2];
  int to_server[2];
  if (::pipe(from_server) != 0 || ::pipe(to_server) != 0) std::abort();
  int port = 0;
  if (::fork() == 0) {
    ::close(to_server[1]);
    FakeHttpServer server(answer, FakeHttpServer::Tls{certificate});
    port = server.port();
    if (::write(from_server[1], &port, sizeof(port)) != sizeof(port)) std::abort();
    char byte = 0;
    (void)!::read(to_server[0], &byte, 1);
    ::_exit(0);
  }
  if (::read(from_server[0], &port, sizeof(port)) != sizeof(port)) std::abort();
  return port;
}

class CountingSink final : public ResponseSink {
 public:
  void on_headers(int code, const Headers&) override { status = code; }
  Next on_bytes(std::string_view more) override {
    bytes += more.size();
    return Next::kMore;
  }
  void on_end(const HttpEnd& received) override { end = received; }
  int status = 0;
  std::size_t bytes = 0;
  HttpEnd end;
};

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Cost {
  double cpu;
  double wall;
};

Cost run(HttpTransport& transport, const Workload& work) {
  const double cpu = cpu_seconds();
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < work.threads; ++thread) {
    threads.emplace_back([&] {
      for (int call = 0; call < work.calls; ++call) {
        CountingSink sink;
        transport.send(work.request, sink, {});
        if (sink.status == 200 && sink.end.kind == HttpEnd::Kind::kComplete) continue;
        fmt::print(stderr, "{} failed: {}\n", work.name, sink.end.detail);
        std::_Exit(1);
      }
    });
  }
  threads.clear();
  return {cpu_seconds() - cpu, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()};
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void report(const Workload& work, const std::vector<Cost> (&costs)[2]) {
  std::vector<double> cpu[2], wall[2], cpu_ratio, wall_ratio;
  for (int round = 0; round < kRounds; ++round) {
    const auto index = static_cast<std::size_t>(round);
    for (int kind : {0, 1}) {
      cpu[kind].push_back(costs[kind][index].cpu);
      wall[kind].push_back(costs[kind][index].wall);
    }
    cpu_ratio.push_back(costs[1][index].cpu / costs[0][index].cpu);
    wall_ratio.push_back(costs[1][index].wall / costs[0][index].wall);
  }
  const auto [least, most] = std::ranges::minmax(cpu_ratio);
  fmt::print("{:<6} CPU s {:.3f} {:.3f}, ratio {:.2f} ({:.2f} to {:.2f}); wall s {:.3f} {:.3f}, ratio {:.2f}\n",
             work.name, median(cpu[0]), median(cpu[1]), median(cpu_ratio), least, most, median(wall[0]),
             median(wall[1]), median(wall_ratio));
}

int bench() {
  const TestAuthority authority;
  const int port = start_server(authority.issue_for_loopback());  // before any thread
  SystemClock clock;
  const auto material = std::make_shared<const TlsMaterial>(TlsMaterial{.ca_pem = authority.pem()});
  std::unique_ptr<HttpTransport> transports[2];
  for (int kind : {0, 1}) {
    auto made = kKinds[kind].make(
        {.server = "https://127.0.0.1:" + std::to_string(port), .tls_material = [material] { return material; }},
        clock);
    if (!made) return 1;
    transports[kind] = std::move(*made);
  }
  fmt::print("{} and {}: medians of {} rounds; {} × {} calls of {} bytes; a watch of {} MiB in events of {} bytes\n",
             kKinds[0].name, kKinds[1].name, kRounds, kThreads, kCallsPerThread, kObjectBytes,
             kWatchBytes / 1024 / 1024, kEventBytes);
  for (const Workload& work : workloads()) {
    std::vector<Cost> costs[2];
    for (int round = 0; round <= kRounds; ++round) {
      for (int turn : {0, 1}) {
        const int kind = (turn + round) % 2;
        const Cost cost = run(*transports[kind], work);
        if (round > 0) costs[kind].push_back(cost);  // the first makes the connections
      }
    }
    report(work, costs);
  }
  return 0;
}

}  // namespace
}  // namespace inference::client

int main() {
  return inference::client::bench();
}
