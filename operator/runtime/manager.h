#pragma once

#include <atomic>
#include <expected>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "operator/client/api_client.h"
#include "operator/runtime/controller.h"
#include "operator/runtime/health_server.h"
#include "operator/runtime/informer.h"
#include "operator/runtime/leader_elector.h"
#include "operator/runtime/metrics.h"
#include "operator/runtime/recorder.h"

namespace inference::runtime {

struct ManagerOptions {
  std::optional<std::string> health_address;        // of the health server; none: no server
  Duration sync_timeout = std::chrono::minutes{2};  // as controller-runtime's CacheSyncTimeout
  Duration stop_timeout = std::chrono::seconds{5};  // for everything together
  LeaderElector* elector = nullptr;  // the workers run while it leads; null: always. Outlives the manager
};

/// What the manager's parts share; all outlive it.
struct Surroundings {
  client::ApiClient& api;
  Metrics& metrics;
  Recorder& recorder;
  Clock& clock;
  Random& random;
};

/// Owns the informers and controllers of the process and runs them: caches first, workers once the caches are whole and
/// this process leads, and back in reverse. A process that does not lead stands by with whole caches.
class Manager {
 public:
  Manager(ManagerOptions options, Surroundings surroundings);
  ~Manager();
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  /// Before `run` only, like the next four; what is returned lives as long as the manager.
  [[nodiscard]] Informer& watch(const client::Resource& resource, Selection selection = {},
                                std::vector<Index> indexes = {});
  /// A kind that is cached only once something asks for it: a worker of one of the controllers starts the informer, at
  /// most once, and waits for its sync. Neither the manager's sync nor its readiness wait for it.
  [[nodiscard]] Informer& watch_on_demand(const client::Resource& resource, Selection selection);
  [[nodiscard]] Informer& add(std::unique_ptr<Informer> informer);
  [[nodiscard]] Controller& add(std::unique_ptr<Controller> controller);
  [[nodiscard]] Controller& add_controller(ControllerOptions options, std::unique_ptr<Reconciler> reconciler);

  /// Runs until `stop`. A kind whose CRD is missing counts as synced. An error is fatal and one line: a kind did not
  /// sync in time (with the API server's reason), the address is taken, the lease was lost, or a thread did not end
  /// within `stop_timeout`; after the last the caller must leave by _Exit. At `stop` the lease is released last, when
  /// nothing writes any more.
  [[nodiscard]] std::expected<void, std::string> run(std::stop_token stop);

  /// Where the health server listens while running; 0 when there is none. Thread-safe.
  [[nodiscard]] int health_port() const { return health_port_; }

 private:
  [[nodiscard]] std::unique_ptr<Informer> make_informer(const client::Resource& resource, Selection selection,
                                                        std::vector<Index> indexes);
  [[nodiscard]] std::expected<void, std::string> wait_for_sync(std::stop_token stop);
  [[nodiscard]] std::expected<void, std::string> work(std::stop_token stop);
  void wait_for(std::stop_token stop);
  [[nodiscard]] std::expected<void, std::string> stop_all();
  [[nodiscard]] std::expected<void, std::string> alive() const;
  [[nodiscard]] std::expected<void, std::string> ready() const;

  const ManagerOptions options_;
  const Surroundings surroundings_;
  FailureLog failures_;
  std::vector<std::unique_ptr<Controller>> controllers_;
  std::vector<std::unique_ptr<Informer>> informers_;  // after controllers_: handlers use their queues
  std::vector<std::unique_ptr<Informer>> on_demand_;
  std::atomic<int> health_port_ = 0;
  std::atomic<bool> working_ = false;      // the workers have been started
  std::atomic<bool> standing_by_ = false;  // waits for the lease
  std::unique_ptr<HealthServer> health_;   // last: its checks read the rest
};

}  // namespace inference::runtime
