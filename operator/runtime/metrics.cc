#include "operator/runtime/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

namespace inference::runtime {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;

// client-go's: from 10 ns to 1000 s in powers of ten, so that the field's dashboards and alerts fit.
Histogram::BucketBoundaries queue_buckets() {
  return {1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10, 100, 1000};
}

// The part of controller-runtime's buckets that tells a healthy reconcile from a slow one.
Histogram::BucketBoundaries reconcile_buckets() {
  return {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};
}

// From one write on an idle cluster to a spec that waits half an hour for a right.
Histogram::BucketBoundaries convergence_buckets() {
  return {0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800};
}

double seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

Family<Counter>& counters(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}
Family<Gauge>& gauges(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
}
Family<Histogram>& histograms(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
}

}  // namespace

struct Metrics::Families {
  prometheus::Registry registry;
  Family<Counter>& reconciles = counters(registry, "reconcile_total", "Reconciles by controller and result");
  Family<Counter>& errors = counters(registry, "reconcile_errors_total", "Reconciles that failed");
  Family<Counter>& terminal_errors =
      counters(registry, "terminal_reconcile_errors_total", "Reconciles that failed and are not tried again");
  Family<Counter>& panics = counters(registry, "reconcile_panics_total", "Exceptions that reached a worker");
  Family<Histogram>& durations = histograms(registry, "reconcile_duration_seconds", "How long a reconcile took");
  Family<Gauge>& depth = gauges(registry, "workqueue_depth", "Keys that wait for a worker");
  Family<Counter>& adds = counters(registry, "workqueue_adds_total", "Keys added to the queue");
  Family<Counter>& retries = counters(registry, "workqueue_retries_total", "Keys added again after a failure");
  Family<Histogram>& queue_durations =
      histograms(registry, "workqueue_queue_duration_seconds", "How long a key waited for a worker");
  Family<Histogram>& work_durations =
      histograms(registry, "workqueue_work_duration_seconds", "How long a worker held a key");
  Family<Counter>& requests =
      counters(registry, "rest_client_requests_total", "Requests to the API server by verb and HTTP code");
  Family<Gauge>& objects = gauges(registry, "informer_objects", "Objects in the informer's cache");
  Family<Counter>& watch_restarts =
      counters(registry, "watch_restarts_total", "Watches that ended and were begun again");
  Family<Counter>& lists =
      counters(registry, "informer_lists_total", "Full lists, at the start and when a watch could not go on");
  Family<Gauge>& leader =
      gauges(registry, "leader_election_master_status", "1 while this process holds the lease, else 0");
  Histogram& children_applied = histograms(registry, "inference_spec_to_children_applied_seconds",
                                           "From when a changed spec was seen to when all its objects were written")
                                    .Add({}, convergence_buckets());
  Family<Gauge>& gpus_requested =
      gauges(registry, "inference_gpus_requested", "GPUs of all replicas that a model asks for");
  Family<Gauge>& gpus_allocated = gauges(registry, "inference_gpus_allocated",
                                         "GPUs that a model's pods hold, by extended resources and by claims");
  Family<Gauge>& gpus_leaked =
      gauges(registry, "inference_gpus_leaked", "Of those, held for longer than a start may take without serving");
  Counter& dropped_events = counters(registry, "events_dropped_total", "Events that were not written").Add({});
};

Metrics::Metrics() : families_(std::make_unique<Families>()) {}
Metrics::~Metrics() = default;

QueueMetrics Metrics::queue(const std::string& name) {
  QueueMetrics queue;
  queue.adds_ = &families_->adds.Add({{"name", name}});
  queue.retries_ = &families_->retries.Add({{"name", name}});
  queue.depth_ = &families_->depth.Add({{"name", name}});
  queue.queue_duration_ = &families_->queue_durations.Add({{"name", name}}, queue_buckets());
  queue.work_duration_ = &families_->work_durations.Add({{"name", name}}, queue_buckets());
  return queue;
}

ControllerMetrics Metrics::controller(const std::string& name) {
  ControllerMetrics controller;
  constexpr const char* kResults[] = {"success", "requeue_after", "error", "terminal_error"};
  // All at 0 from the start: a rate over a series that has just appeared would miss its first step.
  for (std::size_t i = 0; i < std::size(kResults); ++i) {
    controller.outcomes_[i] = &families_->reconciles.Add({{"controller", name}, {"result", kResults[i]}});
  }
  controller.errors_ = &families_->errors.Add({{"controller", name}});
  controller.terminal_errors_ = &families_->terminal_errors.Add({{"controller", name}});
  controller.panics_ = &families_->panics.Add({{"controller", name}});
  controller.duration_ = &families_->durations.Add({{"controller", name}}, reconcile_buckets());
  return controller;
}

InformerMetrics Metrics::informer(const std::string& kind) {
  InformerMetrics informer;
  informer.objects_ = &families_->objects.Add({{"kind", kind}});
  informer.watch_restarts_ = &families_->watch_restarts.Add({{"kind", kind}});
  informer.lists_ = &families_->lists.Add({{"kind", kind}});
  return informer;
}

LeaderMetrics Metrics::leader(const std::string& lease) {
  LeaderMetrics leader;
  leader.status_ = &families_->leader.Add({{"name", lease}});
  return leader;
}

void Metrics::count_request(std::string_view verb, int code) {
  const std::string text = code == 0 ? "<error>" : std::to_string(code);  // client-go's label for no answer
  families_->requests.Add({{"verb", std::string(verb)}, {"code", text}}).Increment();
}

void Metrics::count_children_applied(Duration since_seen) {
  families_->children_applied.Observe(seconds(since_seen));
}

void Metrics::set_gpus(const std::string& ns, const std::string& name, const GpuCounts& counts) {
  const prometheus::Labels model{{"namespace", ns}, {"name", name}};
  families_->gpus_requested.Add(model).Set(static_cast<double>(counts.requested));
  families_->gpus_allocated.Add(model).Set(static_cast<double>(counts.allocated));
  families_->gpus_leaked.Add(model).Set(static_cast<double>(counts.leaked));
}

void Metrics::forget_gpus(const std::string& ns, const std::string& name) {
  const prometheus::Labels model{{"namespace", ns}, {"name", name}};
  for (auto* family : {&families_->gpus_requested, &families_->gpus_allocated, &families_->gpus_leaked}) {
    if (family->Has(model)) family->Remove(&family->Add(model));
  }
}

void Metrics::count_dropped_event() {
  families_->dropped_events.Increment();
}

std::string Metrics::to_text() const {
  return prometheus::TextSerializer().Serialize(families_->registry.Collect());
}

void QueueMetrics::added() const {
  adds_->Increment();
}
void QueueMetrics::retried() const {
  retries_->Increment();
}
void QueueMetrics::depth(std::size_t keys) const {
  depth_->Set(static_cast<double>(keys));
}
void QueueMetrics::waited(Duration in_queue) const {
  queue_duration_->Observe(seconds(in_queue));
}
void QueueMetrics::worked(Duration on_key) const {
  work_duration_->Observe(seconds(on_key));
}

void ControllerMetrics::reconciled(ReconcileOutcome outcome, Duration took) const {
  outcomes_[static_cast<std::size_t>(outcome)]->Increment();
  if (outcome == ReconcileOutcome::kError || outcome == ReconcileOutcome::kTerminalError) errors_->Increment();
  if (outcome == ReconcileOutcome::kTerminalError) terminal_errors_->Increment();
  duration_->Observe(seconds(took));
}
void ControllerMetrics::panicked() const {
  panics_->Increment();
}

void InformerMetrics::objects(std::size_t count) const {
  objects_->Set(static_cast<double>(count));
}
void InformerMetrics::watch_restarted() const {
  watch_restarts_->Increment();
}
void InformerMetrics::listed() const {
  lists_->Increment();
}

void LeaderMetrics::leads() const {
  status_->Set(1);
}
void LeaderMetrics::follows() const {
  status_->Set(0);
}

}  // namespace inference::runtime
