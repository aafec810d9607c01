#include "operator/runtime/recorder.h"

#include <pthread.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>

#include "base/json_members.h"
#include "base/logging.h"
#include "operator/runtime/object_meta.h"

namespace inference::runtime {
namespace {

// More different events than a thousand in ten minutes say nothing to a reader, and this bounds the memory to about a
// megabyte.
constexpr std::size_t kMaxSeries = 1024;
// After this long the same event is a new one (client-go's finishTime is 6 min, the older recorder's cache 10 min).
constexpr Duration kSeriesAge = std::chrono::minutes{10};
constexpr std::size_t kMaxNote = 1024;       // events.k8s.io/v1: note
constexpr std::size_t kMaxName = 253;        // a DNS subdomain
constexpr std::size_t kNameSuffix = 1 + 13;  // "." and 52 bits in hexadecimal
constexpr int kAttempts = 3;
constexpr Duration kRetryPause = std::chrono::seconds{1};

// Not within a UTF-8 sequence: continuation bytes are 10xxxxxx.
std::string cut(std::string text, std::size_t limit) {
  if (text.size() <= limit) return text;
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0U) == 0x80U) --limit;
  text.resize(limit);
  return text;
}

// Unique without asking anyone: the chance that two of 1,000 events of one object meet in 2^52 is one in ten billion.
std::string event_name(std::string object_name, Random& random) {
  object_name.resize(std::min(object_name.size(), kMaxName - kNameSuffix));
  while (!object_name.empty() && std::isalnum(static_cast<unsigned char>(object_name.back())) == 0)
    object_name.pop_back();
  char suffix[kNameSuffix + 1];
  std::snprintf(suffix, sizeof suffix, ".%013llx", static_cast<unsigned long long>(std::ldexp(random.uniform(), 52)));
  return object_name + suffix;
}

bool worth_retrying(const client::ApiError& error) {
  return !error.is_cancelled() && (error.code == 0 || error.code >= 500 || error.is_too_many_requests());
}

}  // namespace

EventWriter event_writer(client::ApiClient& api) {
  return [&api](const Json& event, std::stop_token stop) -> std::expected<void, client::ApiError> {
    client::ApplyOptions options;
    options.force = client::Force::kYes;  // nobody else writes an event of ours
    const auto written = api.apply(client::resources::kEvent, event, options, stop);
    if (!written.has_value()) return std::unexpected(written.error());
    return {};
  };
}

Recorder::Recorder(Settings settings, EventWriter write, Metrics& metrics, Clock& clock, Random& random)
    : settings_(std::move(settings)), write_(std::move(write)), metrics_(metrics), clock_(clock), random_(random) {}

Recorder::~Recorder() {
  (void)stop(clock_.now());
}

void Recorder::record(const Json& regarding, EventNote note) {
  note.note = cut(std::move(note.note), kMaxNote);
  const client::ObjectRef ref = ref_of(regarding);
  SeriesKey key;
  const std::string type = std::to_string(static_cast<int>(note.type));
  for (const std::string& part :
       {text_at(regarding, "kind"), ref.ns, ref.name, uid_of(regarding), type, note.reason, note.action, note.note})
    key.append(part).push_back('\0');
  const Json event = make_event(regarding, note);

  const std::scoped_lock lock(mutex_);
  if (series_.size() >= kMaxSeries) forget_old_series_locked();
  if (closed_ || series_.size() >= kMaxSeries) return metrics_.count_dropped_event();
  auto [entry, is_new] = series_.try_emplace(key);
  Series& series = entry->second;
  const TimePoint now = clock_.now();
  if (is_new || (now - series.last >= kSeriesAge && !series.queued)) {
    series.event = packer_.pack(event);
    series.count = 1;
  } else {
    ++series.count;  // from 2 on it is a series; the API refuses one of 1
    Json again = *series.event.unpack();
    again["series"] = {{"count", series.count}, {"lastObservedTime", to_rfc3339_micro(clock_.wall_now())}};
    series.event = packer_.pack(again);
  }
  series.last = now;
  if (std::exchange(series.queued, true)) return;
  queue_.push_back(std::move(key));
  changed_.notify_all();
}

Json Recorder::make_event(const Json& regarding, const EventNote& note) {
  const client::ObjectRef ref = ref_of(regarding);
  // Events are namespaced; those of cluster-scoped objects live in `default` (as client-go's).
  const std::string ns = ref.ns.empty() ? "default" : ref.ns;
  Json about = {
      {"apiVersion", text_at(regarding, "apiVersion")}, {"kind", text_at(regarding, "kind")}, {"name", ref.name}};
  if (!ref.ns.empty()) about["namespace"] = ref.ns;
  if (const std::string uid = uid_of(regarding); !uid.empty()) about["uid"] = uid;
  return {{"apiVersion", "events.k8s.io/v1"},
          {"kind", "Event"},
          {"metadata", {{"name", event_name(ref.name, random_)}, {"namespace", ns}}},
          {"eventTime", to_rfc3339_micro(clock_.wall_now())},
          {"reportingController", settings_.controller},
          {"reportingInstance", settings_.instance},
          {"type", note.type == EventNote::Type::kWarning ? "Warning" : "Normal"},
          {"reason", note.reason},
          {"action", note.action},
          {"note", note.note},
          {"regarding", std::move(about)}};
}

void Recorder::forget_old_series_locked() {
  const TimePoint now = clock_.now();
  std::erase_if(series_,
                [now](const auto& entry) { return !entry.second.queued && now - entry.second.last >= kSeriesAge; });
}

void Recorder::start() {
  {
    const std::scoped_lock lock(mutex_);
    ended_ = false;
  }
  thread_ = std::jthread([this](std::stop_token stop) { run(stop); });
}

void Recorder::run(std::stop_token stop) {
  pthread_setname_np(pthread_self(), "events");
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (queue_.empty()) {
      if (closed_) break;
      clock_.wait_until(changed_, lock, clock_.now() + std::chrono::hours{1}, stop);
      continue;
    }
    Series& series = series_.at(queue_.front());
    queue_.pop_front();
    series.queued = false;  // what is recorded from here on is another write
    const PackedObject event = series.event;
    lock.unlock();
    write(*event.unpack(), stop);
    lock.lock();
  }
  ended_ = true;
  changed_.notify_all();
}

void Recorder::write(const Json& event, std::stop_token stop) {
  for (int attempt = 1;; ++attempt) {
    const auto written = write_(event, stop);
    if (written.has_value()) return;
    if (attempt < kAttempts && worth_retrying(written.error()) && pause_before_retry(stop)) continue;
    metrics_.count_dropped_event();
    if (!stop.stop_requested()) log::warning("event was not written", {{"error", written.error().to_string()}});
    return;
  }
}

bool Recorder::pause_before_retry(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  const TimePoint deadline = clock_.now() + kRetryPause;
  while (!closed_ && !stop.stop_requested() && clock_.now() < deadline) {
    clock_.wait_until(changed_, lock, deadline, stop);
  }
  return !closed_ && !stop.stop_requested();
}

bool Recorder::stop(TimePoint deadline) {
  {
    std::unique_lock lock(mutex_);
    closed_ = true;
    changed_.notify_all();
    while (!ended_ && clock_.now() < deadline) clock_.wait_until(changed_, lock, deadline, {});
    if (ended_) return true;
  }
  thread_.request_stop();  // cancels the write that hangs; the thread ends with it
  return false;
}

}  // namespace inference::runtime
