#include "operator/runtime/leader_elector.h"

#include <pthread.h>

#include <algorithm>

#include "base/logging.h"

namespace inference::runtime {
namespace {

// controller-runtime's tolerance: the process should have ended when its lease did; after this it never will by itself.
constexpr Duration kHungTolerance = std::chrono::seconds{20};
// A cancelled call ends within milliseconds.
constexpr Duration kCancelGrace = std::chrono::seconds{1};

std::string in_seconds(Duration duration) {
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
  return milliseconds % 1000 == 0 ? std::to_string(milliseconds / 1000) + "s" : std::to_string(milliseconds) + "ms";
}

}  // namespace

LeaseCalls lease_calls(client::ApiClient& api, const client::ObjectRef& lease) {
  using client::resources::kLease;
  return {.get = [&api, lease](std::stop_token stop) { return api.get(kLease, lease, stop); },
          .create = [&api](const Json& object, std::stop_token stop) { return api.create(kLease, object, {}, stop); },
          .update =
              [&api](const Json& object, std::stop_token stop) {
                // By force: whoever edited the record by hand owns fields of it, but not the lease.
                return api.apply(kLease, object, {.force = client::Force::kYes}, stop);
              }};
}

std::expected<void, std::string> check(const LeaderElectorOptions& options) {
  const auto times = [](const char* first, Duration a, const char* relation, const char* second, Duration b) {
    return std::unexpected(std::string(first) + " (" + in_seconds(a) + ") must be " + relation + " " + second + " (" +
                           in_seconds(b) + ")");
  };
  if (options.lease_duration % std::chrono::seconds{1} != Duration::zero())
    return std::unexpected("lease duration (" + in_seconds(options.lease_duration) + ") must be whole seconds");
  if (options.retry_period <= Duration::zero()) return std::unexpected("retry period must be above 0s");
  if (options.lease_duration <= options.renew_deadline)
    return times("lease duration", options.lease_duration, "above", "renew deadline", options.renew_deadline);
  if (options.renew_deadline <= options.retry_period)
    return times("renew deadline", options.renew_deadline, "above", "retry period", options.retry_period);
  return {};
}

client::ClientOptions lease_client_options(const LeaderElectorOptions& options, client::ClientOptions base) {
  base.idle_timeout = options.renew_deadline / 2;
  base.total_timeout = options.renew_deadline / 2;
  base.max_retry_wait = Duration::zero();
  return base;
}

LeaderElector::LeaderElector(LeaderElectorOptions options, LeaseCalls calls, LeaderMetrics metrics, Clock& clock,
                             Random& random)
    : options_(std::move(options)), calls_(std::move(calls)), metrics_(metrics), clock_(clock), random_(random) {
  metrics_.follows();
}

LeaderElector::~LeaderElector() {
  release_.request_stop();
}

void LeaderElector::start() {
  {
    const std::scoped_lock lock(mutex_);
    ended_ = false;
  }
  thread_ = std::jthread([this](std::stop_token stop) { run(stop); });
}

void LeaderElector::run(std::stop_token stop) {
  pthread_setname_np(pthread_self(), "leader");
  while (!stop.stop_requested() && !is_lost()) {
    const TimePoint began = clock_.now();
    try_once(stop);
    pause_until(next_try(began), stop);
  }
  if (leading() && !release_.stop_requested()) release();
  const std::scoped_lock lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

void LeaderElector::try_once(std::stop_token stop) {
  if (leading() && renew(stop)) return;
  if (!stop.stop_requested() && !is_lost()) acquire_or_follow(stop);
}

/// Whether that settles this try: a conflict does not, for it may come from someone's label as well as from a new
/// holder.
bool LeaderElector::renew(std::stop_token stop) {
  const TimePoint sent = clock_.now();
  const auto updated = calls_.update(make_lease(options_.lease, claim(), resource_version_), stop);
  if (updated.has_value()) {
    note_held(*updated, sent);
    return true;
  }
  if (updated.error().is_conflict()) return false;
  if (!stop.stop_requested()) note_failure(updated.error());
  return true;
}

void LeaderElector::acquire_or_follow(std::stop_token stop) {
  const auto found = calls_.get(stop);
  if (stop.stop_requested()) return;
  if (found.has_value()) {
    observe(*found);
    // One that leads and finds another's name, or none, has been deposed; even if that record has run out since.
    if (record_->holder != options_.identity && leading())
      return lose(record_->holder.empty() ? "someone released it" : record_->holder + " holds it now");
  } else if (!found.error().is_not_found()) {
    return note_failure(found.error());
  } else {
    resource_version_.clear();
  }
  // A Lease that is gone may still have a holder who does not know: what was seen of it holds.
  if (record_.has_value() && !is_free(*record_)) return;
  const bool led = leading();
  take(stop);
  if (!led && leading()) log::info("leading", {{"lease", options_.lease.to_string()}, {"identity", options_.identity}});
}

void LeaderElector::observe(const Json& lease) {
  resource_version_ = lease.value("/metadata/resourceVersion"_json_pointer, "");
  LeaseRecord record = read_lease(lease);
  if (record_ == record) return;
  const bool others = !record.holder.empty() && record.holder != options_.identity;
  if (others && (!record_.has_value() || record_->holder != record.holder)) {
    log::info("waiting for the lease", {{"lease", options_.lease.to_string()}, {"holder", record.holder}});
  }
  record_ = std::move(record);
  since_ = clock_.now();
}

/// Nobody else's, or not renewed for its whole duration.
bool LeaderElector::is_free(const LeaseRecord& record) const {
  return record.holder.empty() || record.holder == options_.identity || clock_.now() - since_ >= record.duration;
}

void LeaderElector::take(std::stop_token stop) {
  const TimePoint sent = clock_.now();
  const Json lease = make_lease(options_.lease, claim(), resource_version_);
  const auto written = resource_version_.empty() ? calls_.create(lease, stop) : calls_.update(lease, stop);
  if (written.has_value()) return note_held(*written, sent);
  // A conflict: another was quicker, and the next look shows who.
  const client::ApiError& error = written.error();
  if (!stop.stop_requested() && !error.is_conflict() && !error.is_already_exists()) note_failure(error);
}

/// The record by which this process takes or keeps the lease, after the one last seen.
LeaseRecord LeaderElector::claim() const {
  const std::string now = to_rfc3339_micro(clock_.wall_now());
  LeaseRecord next{.holder = options_.identity,
                   .duration = std::chrono::duration_cast<std::chrono::seconds>(options_.lease_duration),
                   .acquired = now,
                   .renewed = now};
  if (!record_.has_value()) return next;
  const bool keeps = record_->holder == options_.identity;
  if (keeps) next.acquired = record_->acquired;
  next.transitions = record_->transitions + (keeps ? 0 : 1);
  return next;
}

void LeaderElector::release() {
  log::info("releasing the lease", {{"lease", options_.lease.to_string()}});
  {
    // Before the first byte is sent: from then on another may lead.
    const std::scoped_lock lock(mutex_);
    leads_until_.reset();
  }
  metrics_.follows();
  // A second time when the renewal that was under way at the stop has changed the Lease.
  for (int attempt = 0; attempt < 2 && !release_.stop_requested(); ++attempt) {
    LeaseRecord free = claim();
    free.holder.clear();
    free.duration = std::chrono::seconds{1};  // as client-go; 0 is refused by the API server
    free.acquired = free.renewed;
    const auto written = calls_.update(make_lease(options_.lease, free, resource_version_), release_.get_token());
    if (written.has_value()) return;
    const auto found = written.error().is_conflict() ? calls_.get(release_.get_token())
                                                     : LeaseCalls::Answer(std::unexpected(written.error()));
    if (!found.has_value())
      return log::warning("the lease was not released, it will run out", {{"error", found.error().to_string()}});
    observe(*found);
    if (record_->holder != options_.identity) return;
  }
}

TimePoint LeaderElector::next_try(TimePoint began) const {
  {
    const std::scoped_lock lock(mutex_);
    if (leads_until_.has_value()) return std::min(began + options_.retry_period, *leads_until_);
  }
  const double part = 0.5 + random_.uniform() / 2;
  const TimePoint next = began + std::chrono::duration_cast<Duration>(part * options_.retry_period);
  if (!record_.has_value() || record_->holder.empty()) return next;
  const TimePoint runs_out = since_ + record_->duration;
  return runs_out > clock_.now() ? std::min(next, runs_out) : next;
}

void LeaderElector::pause_until(TimePoint deadline, std::stop_token stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested() && lost_.empty() && clock_.now() < deadline)
    clock_.wait_until(changed_, lock, deadline, stop);
  if (leads_until_.has_value() && clock_.now() >= *leads_until_) lose_locked("not renewed in time");
}

void LeaderElector::note_held(const Json& lease, TimePoint sent) {
  resource_version_ = lease.value("/metadata/resourceVersion"_json_pointer, "");
  record_ = read_lease(lease);
  since_ = clock_.now();
  const std::scoped_lock lock(mutex_);
  last_error_.clear();
  if (!lost_.empty()) return;
  const TimePoint now = clock_.now();
  // An answer that comes too late saves nothing: writers have been turned away meanwhile.
  if (leads_until_.has_value() && now >= *leads_until_) return lose_locked("not renewed in time");
  if (now >= sent + options_.renew_deadline) return;  // taken, but long ago: the next try renews it first
  if (!leads_until_.has_value()) metrics_.leads();
  leads_until_ = sent + options_.renew_deadline;
  changed_.notify_all();
}

void LeaderElector::note_failure(const client::ApiError& error) {
  const std::string text = error.to_string();
  {
    const std::scoped_lock lock(mutex_);
    if (std::exchange(last_error_, text) == text) return;  // said already
  }
  log::warning("the lease could not be read or renewed, trying again",
               {{"lease", options_.lease.to_string()}, {"error", text}});
}

void LeaderElector::lose(std::string why) {
  const std::scoped_lock lock(mutex_);
  lose_locked(std::move(why));
}

void LeaderElector::lose_locked(std::string why) {
  if (!lost_.empty()) return;
  lost_ = "lost the lease " + options_.lease.to_string() + ": " + why +
          (last_error_.empty() ? "" : " (" + last_error_ + ")");
  leads_until_.reset();
  metrics_.follows();
  changed_.notify_all();
}

bool LeaderElector::leading() const {
  const std::scoped_lock lock(mutex_);
  return leads_until_.has_value();
}

bool LeaderElector::is_lost() const {
  const std::scoped_lock lock(mutex_);
  return !lost_.empty();
}

bool LeaderElector::may_write() const {
  const std::scoped_lock lock(mutex_);
  return leads_until_.has_value() && clock_.now() < *leads_until_;
}

bool LeaderElector::wait_leading(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  while (!leads_until_.has_value() && lost_.empty() && !stop.stop_requested())
    clock_.wait_until(changed_, lock, clock_.now() + std::chrono::hours{1}, stop);
  return !stop.stop_requested();
}

std::expected<void, std::string> LeaderElector::wait_lost(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  while (lost_.empty() && !stop.stop_requested()) {
    const TimePoint until = leads_until_.value_or(clock_.now());
    if (clock_.now() >= until) lose_locked("not renewed in time");
    if (lost_.empty()) clock_.wait_until(changed_, lock, until, stop);
  }
  if (lost_.empty()) return {};
  return std::unexpected(lost_);
}

std::expected<void, std::string> LeaderElector::alive() const {
  const std::scoped_lock lock(mutex_);
  const Duration after_deadline = options_.lease_duration - options_.renew_deadline + kHungTolerance;
  if (!leads_until_.has_value() || clock_.now() < *leads_until_ + after_deadline) return {};
  return std::unexpected("the lease " + options_.lease.to_string() + " has run out and the process did not end");
}

bool LeaderElector::stop(TimePoint deadline) {
  thread_.request_stop();
  std::unique_lock lock(mutex_);
  while (!ended_ && clock_.now() < deadline) clock_.wait_until(changed_, lock, deadline, {});
  if (ended_) return true;
  lock.unlock();
  release_.request_stop();
  lock.lock();
  const TimePoint grace = clock_.now() + kCancelGrace;
  while (!ended_ && clock_.now() < grace) clock_.wait_until(changed_, lock, grace, {});
  return ended_;
}

}  // namespace inference::runtime
