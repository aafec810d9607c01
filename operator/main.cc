#include <malloc.h>
#include <pthread.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <thread>

#include "base/logging.h"
#include "base/version.h"
#include "operator/client/api_client.h"
#include "operator/client/client_config.h"
#include "operator/client/in_cluster.h"
#include "operator/runtime/health_server.h"
#include "operator/runtime/leader_elector.h"
#include "operator/runtime/manager.h"
#include "reconcilers/wiring.h"
#include "render/template_set.h"

namespace {

using namespace inference;

constexpr std::chrono::seconds kTrimEvery{15};

struct Flags {
  std::string kubeconfig;
  std::string context;
  std::string health_address = ":8081";
  std::size_t workers = 4;
  bool leader_elect = true;
  runtime::LeaderElectorOptions election = {.lease = {"", runtime::kDefaultLease}};
  log::Level log_level = log::Level::kInfo;
  log::Format log_format = log::Format::kJson;
};

/// A flag for a time like 15s or 500ms; the default is the value that `target` has.
void add_duration(CLI::App& app, const std::string& name, Duration& target, const std::string& description) {
  const std::map<std::string, std::int64_t> units = {{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}};
  app.add_option_function<std::int64_t>(
         name, [&target](std::int64_t milliseconds) { target = std::chrono::milliseconds{milliseconds}; }, description)
      ->transform(CLI::AsNumberWithUnit(units, CLI::AsNumberWithUnit::UNIT_REQUIRED).description(""))
      ->check(CLI::Range(std::int64_t{0}, units.at("h")).description(""))
      ->type_name("DURATION")
      ->default_str(std::to_string(std::chrono::duration_cast<std::chrono::seconds>(target).count()) + "s");
}

/// A flag for one of a few words. The library's own check tells of the numbers behind them, in help and errors.
template <typename T>
void add_choice(CLI::App& app, const std::string& name, T& target, const std::map<std::string, T>& choices,
                const std::string& words, const std::string& usual) {
  const auto known = [choices, words](const std::string& word) {
    return choices.contains(word) ? "" : word + " is none of " + words;
  };
  app.add_option_function<std::string>(
         name, [&target, choices](const std::string& word) { target = choices.at(word); },
         words + " (default: " + usual + ")")
      ->check(CLI::Validator(known, ""))
      ->type_name("WORD");
}

std::string health_address_fault(const std::string& address) {
  if (address == "off") return {};
  const auto understood = runtime::HealthServer::check(address);
  return understood ? "" : understood.error();
}

/// The names and defaults of Kubernetes' own components.
void declare_election(CLI::App& app, Flags& flags) {
  runtime::LeaderElectorOptions& election = flags.election;
  app.add_flag("--leader-elect", flags.leader_elect,
               "work only while holding a Lease, so that several replicas can run (default: true)");
  add_duration(app, "--leader-elect-lease-duration", election.lease_duration,
               "how long after the leader's last renewal another may take over");
  add_duration(app, "--leader-elect-renew-deadline", election.renew_deadline,
               "how long the leader goes on without a renewal");
  add_duration(app, "--leader-elect-retry-period", election.retry_period, "between two tries to take or renew");
  app.add_option("--leader-elect-resource-namespace", election.lease.ns,
                 "of the Lease (default: the pod's own, else inference-system)")
      ->type_name("NAME");
  app.add_option("--leader-elect-resource-name", election.lease.name, "of the Lease")
      ->type_name("NAME")
      ->capture_default_str();
}

/// Declares the flags on `app`; their values land in `flags`.
void declare(CLI::App& app, Flags& flags) {
  const std::map<std::string, log::Level> levels = {{"debug", log::Level::kDebug},
                                                    {"info", log::Level::kInfo},
                                                    {"warning", log::Level::kWarning},
                                                    {"error", log::Level::kError}};
  const std::map<std::string, log::Format> formats = {{"text", log::Format::kText}, {"json", log::Format::kJson}};
  app.add_option("--kubeconfig", flags.kubeconfig,
                 "kubeconfig file (default: $KUBECONFIG, then the pod's service account, then ~/.kube/config)")
      ->type_name("FILE");
  app.add_option("--context", flags.context, "kubeconfig context (default: the current one)")->type_name("NAME");
  app.add_option("--workers", flags.workers, "InferenceDeployments reconciled at the same time")
      ->check(CLI::Range(1, 256).description(""))
      ->type_name("NUMBER")
      ->capture_default_str();
  app.add_option("--health-address", flags.health_address,
                 "where /healthz, /readyz and /metrics are served; port 0 takes a free one, 'off' serves none")
      ->check(CLI::Validator(health_address_fault, ""))
      ->type_name("HOST:PORT")
      ->capture_default_str();
  add_choice(app, "--log-level", flags.log_level, levels, "debug, info, warning, error", "info");
  add_choice(app, "--log-format", flags.log_format, formats, "json, text", "json");
  declare_election(app, flags);
  app.set_version_flag("--version",
                       "inference-operator " + std::string(version()) + " (" + std::string(git_commit()) + ")");
}

/// Turns SIGTERM and SIGINT into a stop request. The signals are blocked in every thread, so a thread of its own waits
/// for them; a second signal ends the process at once, for a person who will not wait.
class StopOnSignal {
 public:
  StopOnSignal() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGTERM);
    sigaddset(&signals_, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
    thread_ = std::jthread([this](const std::stop_token& ended) { wait(ended); });
  }
  ~StopOnSignal() {
    thread_.request_stop();
    pthread_kill(thread_.native_handle(), SIGTERM);
  }
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;
  [[nodiscard]] std::stop_token token() const { return source_.get_token(); }

 private:
  void wait(const std::stop_token& ended) {
    for (int signal = 0; sigwait(&signals_, &signal) == 0 && !ended.stop_requested();) {
      if (source_.stop_requested()) std::_Exit(128 + signal);
      log::info("stopping", {{"signal", signal == SIGINT ? "SIGINT" : "SIGTERM"}});
      source_.request_stop();
    }
  }

  sigset_t signals_{};
  std::stop_source source_;
  std::jthread thread_;
};

std::string instance_name() {
  const char* pod = std::getenv("HOSTNAME");
  return pod == nullptr ? "inference-operator" : pod;
}

/// Unlike any other process's, so that a container that was started again does not take the lease of the one before
/// for its own while that may still live.
std::string make_identity(Random& random) {
  char suffix[14];
  std::snprintf(suffix, sizeof suffix, "%013llx", static_cast<unsigned long long>(std::ldexp(random.uniform(), 52)));
  return instance_name() + "_" + suffix;
}

/// The lease's own way to the API server: its calls never wait for, or with, those of the workers.
std::expected<std::unique_ptr<client::ApiClient>, std::string> lease_client(
    const client::ClientConfig& config, const runtime::LeaderElectorOptions& election, Clock& clock,
    const client::ClientOptions& options) {
  auto api = client::ApiClient::make(config, clock, runtime::lease_client_options(election, options));
  if (!api) return std::unexpected(api.error().message);
  return std::move(*api);
}

/// Everything between the flags and the end. The error is one line, for standard error.
std::expected<void, std::string> run(const Flags& flags, std::stop_token stop) {
  const auto config = client::load_config({.kubeconfig = flags.kubeconfig, .context = flags.context});
  if (!config) return std::unexpected(config.error().message);

  static SystemClock clock;
  static SeededRandom random;
  runtime::Metrics metrics;
  // The identity tells the replicas apart in the API server's audit log too.
  runtime::LeaderElectorOptions election = flags.election;
  election.identity = make_identity(random);
  client::ClientOptions options{.user_agent =
                                    "inference-operator/" + std::string(version()) + " (" + election.identity + ")"};
  options.observer = [&metrics](std::string_view verb, int code) { metrics.count_request(verb, code); };

  std::unique_ptr<client::ApiClient> lease_api;
  std::shared_ptr<runtime::LeaderElector> elector;  // also of whom the HTTP library still asks
  if (flags.leader_elect) {
    auto made = lease_client(*config, election, clock, options);
    if (!made) return std::unexpected(made.error());
    lease_api = std::move(*made);
    elector = std::make_shared<runtime::LeaderElector>(election, runtime::lease_calls(*lease_api, election.lease),
                                                       metrics.leader(election.lease.name), clock, random);
    options.may_write = [elector] { return elector->may_write(); };
    // What was let through last is done, or given up by the server, before another may take the lease.
    options.write_timeout =
        std::chrono::duration_cast<std::chrono::milliseconds>(election.lease_duration - election.renew_deadline);
  }
  auto api = client::ApiClient::make(*config, clock, std::move(options));
  if (!api) return std::unexpected(api.error().message);

  runtime::Recorder recorder({.instance = instance_name()}, runtime::event_writer(**api), metrics, clock, random);
  const runtime::Surroundings surroundings{**api, metrics, recorder, clock, random};
  runtime::ManagerOptions manager_options;
  if (flags.health_address != "off") manager_options.health_address = flags.health_address;
  manager_options.elector = elector.get();
  runtime::Manager manager(manager_options, surroundings);
  reconcilers::add_inference_deployments(manager, surroundings, render::TemplateSet::embedded(), flags.workers,
                                         flags.election.lease.ns);

  log::info(
      "starting",
      {{"version", std::string(version())}, {"server", config->server}, {"workers", std::to_string(flags.workers)}});
  // Most of the threads only wait for a watch, and the arena of each keeps what its parser once needed. One arena for
  // all of them costs more: they wait for it (docs/performance.md).
  const std::jthread trimmer([](std::stop_token ending) {
    while (sleep(clock, kTrimEvery, ending)) malloc_trim(0);
  });
  auto ended = manager.run(stop);
  if (!ended) {
    // A thread may still hang in a call, and leaving this function would wait for it.
    log::error("stopped by a fault", {{"error", ended.error()}});
    std::_Exit(1);
  }
  return ended;
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags;
  CLI::App app{"Keeps the production spec of every InferenceDeployment in a cluster.", "inference-operator"};
  declare(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : 2;
  }
  if (const auto fits = runtime::check(flags.election); flags.leader_elect && !fits) {
    std::cerr << "error: --leader-elect: " << fits.error() << "\n";
    return 2;
  }
  if (flags.election.lease.ns.empty()) flags.election.lease.ns = client::in_cluster_namespace();
  if (flags.election.lease.ns.empty()) flags.election.lease.ns = runtime::kDefaultLeaseNamespace;
  log::configure(flags.log_level, flags.log_format);
  const StopOnSignal signals;
  try {
    const auto ended = run(flags, signals.token());
    if (ended) return 0;
    log::error("cannot start", {{"error", ended.error()}});
  } catch (const std::exception& error) {
    log::error("stopped by an unexpected exception", {{"error", error.what()}});
  }
  return 1;
}
