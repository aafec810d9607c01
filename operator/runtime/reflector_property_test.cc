// The reflector against a model of an API server that does, call by call, anything that a server may do: whatever
// comes, the store and those who listen to it end up with the server's objects.

#include <gtest/gtest.h>

#include <random>

#include "base/logging.h"
#include "operator/runtime/object_meta.h"
#include "operator/runtime/reflector.h"
#include "operator/runtime/testing/scripted_list_watch.h"

namespace inference::runtime {
namespace {

using client::WatchEnd;
using testing::make_object;
using testing::status_error;
using Versions = std::map<std::string, std::uint64_t>;  // by name
using OnEvent = std::function<void(client::WatchEvent)>;

/// Whoever sleeps on it has slept: no thread is needed to move it.
class JumpingClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return now_; }
  [[nodiscard]] WallTime wall_now() const override { return {}; }
  void wait_until(std::condition_variable_any&, std::unique_lock<std::mutex>&, TimePoint deadline,
                  std::stop_token) override {
    now_ = std::max(now_, deadline);
  }
  void advance(Duration duration) { now_ += duration; }

 private:
  TimePoint now_{};
};

/// What a listener of the reflector knows, and whether each change followed from the one before.
struct Listener {
  Versions known;
  std::size_t changes = 0;
  int synced = 0;
  std::optional<bool> served;

  void hear(const Change& change) {
    ++changes;
    const auto before = known.find(change.ref.name);
    EXPECT_EQ(change.before != nullptr, before != known.end()) << change.ref.name;
    if (change.before != nullptr && before != known.end()) {
      EXPECT_EQ(version_number(resource_version_of(*change.before)), before->second) << change.ref.name;
    }
    if (change.after == nullptr) {
      EXPECT_EQ(known.erase(change.ref.name), 1u) << "a deletion told twice, of " << change.ref.name;
      return;
    }
    std::uint64_t& version = known[change.ref.name];
    const std::uint64_t now = version_number(resource_version_of(*change.after));
    EXPECT_GT(now, version) << "told twice, or out of order: " << change.ref.name;
    version = now;
  }
  [[nodiscard]] ReflectorListener callbacks() {
    return {.on_change = [this](const Change& change) { hear(change); },
            .on_synced = [this] { ++synced; },
            .on_served =
                [this](bool now) {
                  EXPECT_NE(served, now) << "told twice whether the kind is served";
                  served = now;
                }};
  }
};

enum class Streams { kServed, kRefused, kIgnored };

/// An API server of one kind. Its objects change between any two things that it says; for `kTrouble` calls it fails in
/// every way it can, then no more, and ends the test once the reflector has caught up.
class ModelServer final : public ListWatch {
 public:
  static constexpr int kTrouble = 40;
  static constexpr int kEnough = kTrouble + 12;  // a list of few pages and a watch need no more

  explicit ModelServer(unsigned seed, JumpingClock& clock) : random_(seed), clock_(clock) {
    streams_ = static_cast<Streams>(pick(3));
    is_served_ = pick(4) != 0;
  }
  /// Called before each answer and after each event.
  std::function<void()> check;
  Listener* listener = nullptr;

  [[nodiscard]] const Versions& objects() const { return objects_; }
  [[nodiscard]] std::stop_token stop() const { return done_.get_token(); }
  [[nodiscard]] bool caught_up() const { return caught_up_; }

  [[nodiscard]] std::expected<client::ListPage, client::ApiError> list(const std::string& token,
                                                                       std::stop_token) override {
    begin_call();
    if (!is_served_) return std::unexpected(answer_of_list(status_error(404)));
    if (trouble() && pick(3) == 0) return std::unexpected(answer_of_list(any_error()));
    std::size_t from = 0;
    if (token.empty()) {
      snapshot_.assign(objects_.begin(), objects_.end());
      snapshot_revision_ = revision_;
    } else {
      if (snapshot_revision_ < compacted_) return std::unexpected(status_error(410));
      from = std::stoul(token);
    }
    const std::size_t to = std::min(snapshot_.size(), from + 1 + static_cast<std::size_t>(pick(4)));
    client::ListPage page{.items = {}, .continue_token = "", .resource_version = std::to_string(snapshot_revision_)};
    for (std::size_t i = from; i < to; ++i) page.items.push_back(object(snapshot_[i].first, snapshot_[i].second));
    if (to < snapshot_.size()) page.continue_token = std::to_string(to);
    may_change_ = page.continue_token.empty();
    return page;
  }

  [[nodiscard]] std::expected<WatchEnd, client::ApiError> stream(std::chrono::seconds, const OnEvent& on_event,
                                                                 std::stop_token) override {
    begin_call();
    if (!is_served_) return std::unexpected(answer_of_list(status_error(404)));
    if (streams_ == Streams::kRefused) return std::unexpected(status_error(pick(2) == 0 ? 400 : 422));
    if (trouble() && pick(4) == 0) return std::unexpected(answer_of_list(any_error()));
    const std::uint64_t from = revision_;
    const Versions initial = objects_;
    for (const auto& [name, version] : initial) {
      say(on_event, client::Added{object(name, version)}, 0);
      if (trouble() && pick(8) == 0) return any_end(on_event);
      if (pick(6) == 0) say(on_event, client::Bookmark{.resource_version = std::to_string(from)}, 0);
      change_world();
    }
    if (streams_ == Streams::kIgnored) return WatchEnd{};
    on_event(client::Bookmark{.resource_version = std::to_string(from), .initial_events_end = true});
    EXPECT_EQ(listener->known, initial) << "after a whole list";
    changes_said_ = listener->changes;
    check();
    return go_on(from, on_event);
  }

  [[nodiscard]] std::expected<WatchEnd, client::ApiError> watch(const std::string& version, std::chrono::seconds,
                                                                const OnEvent& on_event, std::stop_token) override {
    begin_call();
    if (!is_served_) return std::unexpected(status_error(404));
    if (trouble() && pick(5) == 0) return std::unexpected(any_error());
    const std::uint64_t from = version_number(version);
    if (from < compacted_ && pick(2) == 0) return std::unexpected(status_error(410));
    if (from < compacted_) return end_with_error(410, on_event);
    return go_on(from, on_event);
  }

 private:
  struct Event {
    std::uint64_t revision;
    std::string name;
    enum class What { kAdded, kModified, kDeleted } what;
  };

  int pick(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }
  [[nodiscard]] bool trouble() const { return calls_ <= kTrouble; }
  static Json object(const std::string& name, std::uint64_t version) {
    return make_object(name, std::to_string(version));
  }

  void begin_call() {
    check();
    // Only a whole list, or a kind that is missing, changes what is known between two requests.
    if (!std::exchange(may_change_, false)) {
      EXPECT_EQ(listener->changes, changes_said_);
    }
    changes_said_ = listener->changes;
    if (++calls_ > kEnough) done_.request_stop();  // without having caught up
    if (!trouble()) serve();
    change_world();
    if (trouble() && pick(10) == 0) is_served_ ? remove_kind() : serve();
  }
  /// The CRD is deleted: with it all objects, and the versions before are of no use any more.
  void remove_kind() {
    is_served_ = false;
    objects_.clear();
    compact();
  }
  void serve() { is_served_ = true; }
  void compact() {
    ++revision_;  // something else in etcd has changed
    compacted_ = revision_;
    history_.clear();
  }
  void change_world() {
    if (!trouble() || !is_served_) return;
    for (int n = pick(4); n > 0; --n) {
      const std::string name = "o" + std::to_string(pick(6));
      const auto found = objects_.find(name);
      ++revision_;
      if (found == objects_.end()) {
        objects_[name] = revision_;
        history_.push_back({revision_, name, Event::What::kAdded});
      } else if (pick(3) == 0) {
        objects_.erase(found);
        history_.push_back({revision_, name, Event::What::kDeleted});
      } else {
        found->second = revision_;
        history_.push_back({revision_, name, Event::What::kModified});
      }
    }
    if (pick(12) == 0) compact();
  }

  /// Says `event`, of which the listener must hear `told` changes: 1 while watching, 0 while the old snapshot is
  /// served.
  void say(const OnEvent& on_event, client::WatchEvent event, std::size_t told) {
    const std::size_t before = listener->changes;
    on_event(std::move(event));
    EXPECT_EQ(listener->changes, before + told);
    changes_said_ = listener->changes;
    check();
  }
  void say(const OnEvent& on_event, const Event& event) {
    Json now = object(event.name, event.revision);
    if (event.what == Event::What::kAdded) return say(on_event, client::Added{std::move(now)}, 1);
    if (event.what == Event::What::kModified) return say(on_event, client::Modified{std::move(now)}, 1);
    say(on_event, client::Deleted{std::move(now)}, 1);
  }

  /// Everything since `from` in order, what happens meanwhile included, until the stream ends.
  std::expected<WatchEnd, client::ApiError> go_on(std::uint64_t from, const OnEvent& on_event) {
    while (true) {
      if (from < compacted_) return end_with_error(410, on_event);  // the history in between is lost
      const auto next = std::ranges::find_if(history_, [from](const Event& event) { return event.revision > from; });
      if (next == history_.end()) break;
      const Event event = *next;
      say(on_event, event);
      from = event.revision;
      if (pick(5) == 0) say(on_event, client::Bookmark{.resource_version = std::to_string(from)}, 0);
      if (trouble() && pick(10) == 0) say(on_event, client::Added{Json::object()}, 0);
      if (trouble() && pick(6) == 0) return any_end(on_event);
      change_world();
    }
    if (trouble()) {
      if (pick(3) != 0) say(on_event, client::Bookmark{.resource_version = std::to_string(revision_)}, 0);
      return any_end(on_event);
    }
    caught_up_ = true;
    done_.request_stop();
    return WatchEnd{.kind = WatchEnd::Kind::kCancelled};
  }

  WatchEnd end_with_error(int code, const OnEvent& on_event) {
    say(on_event, client::WatchError{status_error(code)}, 0);
    return {.kind = WatchEnd::Kind::kError};
  }
  std::expected<WatchEnd, client::ApiError> any_end(const OnEvent& on_event) {
    clock_.advance(std::chrono::seconds{pick(3)});
    constexpr int kCodes[] = {410, 500, 504, 404};
    switch (pick(5)) {
      case 0:
        return WatchEnd{.kind = WatchEnd::Kind::kComplete};
      case 1:
        return WatchEnd{.kind = WatchEnd::Kind::kIdleTimeout};
      case 2:
        return WatchEnd{.kind = WatchEnd::Kind::kCut};
      case 3:
        return WatchEnd{.kind = WatchEnd::Kind::kMalformed};
      default:
        return end_with_error(kCodes[pick(4)], on_event);
    }
  }
  /// The store is emptied when the first request of a list finds no such kind.
  client::ApiError answer_of_list(client::ApiError error) {
    may_change_ = error.is_not_found();
    return error;
  }
  client::ApiError any_error() {
    constexpr int kCodes[] = {400, 403, 404, 410, 422, 429, 500, 503, 504};
    using Kind = client::ApiError::Kind;
    constexpr Kind kKinds[] = {Kind::kConnect, Kind::kCut, Kind::kMalformed, Kind::kTooLarge};
    if (pick(3) == 0) {
      client::ApiError error;
      error.kind = kKinds[pick(4)];
      return error;
    }
    client::ApiError error = status_error(kCodes[pick(9)]);
    if (error.code == 429) error.retry_after = std::chrono::seconds{7};
    return error;
  }

  std::mt19937 random_;
  JumpingClock& clock_;
  std::stop_source done_;
  Streams streams_;
  bool is_served_;
  bool caught_up_ = false;
  bool may_change_ = false;
  std::size_t changes_said_ = 0;  // that the listener had heard when the last event was said
  int calls_ = 0;
  Versions objects_;
  std::uint64_t revision_ = 1;
  std::uint64_t compacted_ = 0;
  std::vector<Event> history_;
  std::vector<std::pair<std::string, std::uint64_t>> snapshot_;  // of the list that is being fetched in pages
  std::uint64_t snapshot_revision_ = 0;
};

Versions stored(const Lister& lister) {
  Versions versions;
  for (const Object& object : lister.list()) {
    versions[ref_of(*object).name] = version_number(resource_version_of(*object));
  }
  return versions;
}

void survive(unsigned seed) {
  JumpingClock clock;
  SeededRandom random(seed);
  Metrics metrics;
  Listener listener;
  ModelServer server(seed, clock);
  StoreWriter store;
  Reflector reflector({.kind = "Thing"}, server, store, listener.callbacks(), metrics.informer("Thing"), clock, random);
  server.listener = &listener;
  bool has_synced = false;
  server.check = [&] {
    // While a new list comes the store still serves what its listeners know.
    EXPECT_EQ(stored(store.lister()), listener.known);
    EXPECT_TRUE(!has_synced || reflector.has_synced()) << "no longer synced";
    has_synced = reflector.has_synced();
    EXPECT_EQ(listener.synced, has_synced ? 1 : 0);
    EXPECT_TRUE(has_synced || listener.known.empty());
    if (listener.served == false) {
      EXPECT_TRUE(has_synced && listener.known.empty()) << "what is left of a kind that is gone";
    }
  };
  reflector.run(server.stop());
  EXPECT_TRUE(server.caught_up()) << "the server is well again, and yet it goes on asking";
  EXPECT_EQ(stored(store.lister()), server.objects());
  EXPECT_EQ(listener.known, server.objects());
  EXPECT_EQ(listener.synced, 1);
}

TEST(ReflectorProperty, EndsWithTheServersObjectsWhateverTheServerDid) {
  log::configure(log::Level::kError, log::Format::kText);  // thousands of warnings otherwise
  for (unsigned seed = 0; seed < 80; ++seed) {
    SCOPED_TRACE(seed);
    survive(seed);
    if (::testing::Test::HasFailure()) break;
  }
  log::configure(log::Level::kInfo, log::Format::kText);
}

}  // namespace
}  // namespace inference::runtime
