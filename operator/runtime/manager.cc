#include "operator/runtime/manager.h"

#include <thread>

#include "base/logging.h"

namespace inference::runtime {
namespace {

// As apimachinery prints a GroupKind; the kind alone does not tell the two PodGroups apart.
std::string group_kind(const client::Resource& resource) {
  return resource.group.empty() ? resource.kind : resource.kind + "." + resource.group;
}

}  // namespace

Manager::Manager(ManagerOptions options, Surroundings surroundings)
    : options_(std::move(options)), surroundings_(surroundings), failures_(surroundings.clock) {}

Manager::~Manager() = default;

std::unique_ptr<Informer> Manager::make_informer(const client::Resource& resource, Selection selection,
                                                 std::vector<Index> indexes) {
  const std::string kind = group_kind(resource) + (selection.called.empty() ? "" : " (" + selection.called + ")");
  auto source = std::make_unique<ApiListWatch>(surroundings_.api, resource, std::move(selection));
  return std::make_unique<Informer>(
      InformerOptions{.kind = kind, .indexes = std::move(indexes), .failures = &failures_}, std::move(source),
      surroundings_.metrics, surroundings_.clock, surroundings_.random);
}

Informer& Manager::watch(const client::Resource& resource, Selection selection, std::vector<Index> indexes) {
  return add(make_informer(resource, std::move(selection), std::move(indexes)));
}

Informer& Manager::watch_on_demand(const client::Resource& resource, Selection selection) {
  return *on_demand_.emplace_back(make_informer(resource, std::move(selection), {}));
}

Informer& Manager::add(std::unique_ptr<Informer> informer) {
  return *informers_.emplace_back(std::move(informer));
}

Controller& Manager::add(std::unique_ptr<Controller> controller) {
  return *controllers_.emplace_back(std::move(controller));
}

Controller& Manager::add_controller(ControllerOptions options, std::unique_ptr<Reconciler> reconciler) {
  return add(std::make_unique<Controller>(std::move(options), std::move(reconciler), surroundings_.metrics,
                                          surroundings_.clock));
}

std::expected<void, std::string> Manager::run(std::stop_token stop) {
  if (options_.health_address.has_value()) {
    auto server =
        HealthServer::start(*options_.health_address, {.alive = [this] { return alive(); },
                                                       .ready = [this] { return ready(); },
                                                       .metrics = [this] { return surroundings_.metrics.to_text(); }});
    if (!server.has_value()) return std::unexpected(server.error());
    health_ = std::move(*server);
    health_port_ = health_->port();
    log::info("health server listens", {{"port", std::to_string(health_->port())}});
  }
  surroundings_.recorder.start();
  for (const auto& informer : informers_) informer->start();

  std::expected<void, std::string> ended = wait_for_sync(stop);
  if (ended.has_value() && !stop.stop_requested()) ended = work(stop);
  auto stopped = stop_all();
  return ended.has_value() ? stopped : ended;
}

std::expected<void, std::string> Manager::work(std::stop_token stop) {
  if (options_.elector != nullptr) {
    // Not earlier: who could not work must not lead.
    standing_by_ = true;
    log::info("caches are synced, standing by for the lease");
    options_.elector->start();
    if (!options_.elector->wait_leading(stop)) return {};
  }
  // Every cache is whole: a reconciler that finds no child may conclude that there is none.
  for (const auto& controller : controllers_) controller->start();
  working_ = true;
  log::info("caches are synced, workers started");
  if (options_.elector != nullptr) return options_.elector->wait_lost(stop);
  wait_for(stop);
  return {};
}

std::expected<void, std::string> Manager::wait_for_sync(std::stop_token stop) {
  const TimePoint deadline = surroundings_.clock.now() + options_.sync_timeout;
  for (const auto& informer : informers_) {
    if (informer->wait_for_sync(deadline, stop)) continue;
    if (stop.stop_requested()) return {};
    const std::string cause = informer->last_error();
    return std::unexpected("could not list " + informer->kind() +
                           " in time: " + (cause.empty() ? "the list was never complete" : cause));
  }
  return {};
}

void Manager::wait_for(std::stop_token stop) {
  // Bounded waits in a loop: the clock needs a deadline, and an hour costs nothing.
  while (sleep(surroundings_.clock, std::chrono::hours{1}, stop)) {
  }
}

std::expected<void, std::string> Manager::stop_all() {
  log::info("stopping");
  working_ = false;
  standing_by_ = false;
  const TimePoint deadline = surroundings_.clock.now() + options_.stop_timeout;
  // Beside the rest: civetweb looks for its end every two seconds only.
  const std::jthread health_stopper([this] { health_.reset(); });
  health_port_ = 0;
  for (const auto& informer : informers_) informer->request_stop();
  for (const auto& controller : controllers_) controller->request_stop();
  std::string hanging;
  for (const auto& controller : controllers_) {
    if (!controller->wait_stopped(deadline)) hanging += " controller " + controller->name();
  }
  // Only now: a worker may have started one to the last.
  for (const auto& informer : on_demand_) informer->request_stop();
  for (const auto* informers : {&informers_, &on_demand_}) {
    for (const auto& informer : *informers) {
      if (!informer->wait_stopped(deadline)) hanging += " reflector " + informer->kind();
    }
  }
  // After the workers, who record: what they said last is written too.
  if (!surroundings_.recorder.stop(deadline)) hanging += " event recorder";
  // Last, and only when nothing of us can write any more: then another may lead at once.
  if (hanging.empty() && options_.elector != nullptr && !options_.elector->stop(deadline)) hanging = " leader elector";
  if (!hanging.empty()) return std::unexpected("did not stop in time:" + hanging);
  log::info("stopped");
  return {};
}

std::expected<void, std::string> Manager::alive() const {
  if (options_.elector != nullptr) {
    if (auto leads = options_.elector->alive(); !leads.has_value()) return leads;
  }
  if (!working_) return {};
  for (const auto& controller : controllers_) {
    if (controller->alive() < controller->workers()) {
      return std::unexpected("controller " + controller->name() + " has lost a worker");
    }
  }
  return {};
}

std::expected<void, std::string> Manager::ready() const {
  for (const auto& informer : informers_) {
    if (!informer->has_synced()) return std::unexpected("waiting for the first list of " + informer->kind());
  }
  if (!working_ && !standing_by_) return std::unexpected("the workers do not run");
  return {};
}

}  // namespace inference::runtime
