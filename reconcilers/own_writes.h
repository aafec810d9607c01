#pragma once

#include <map>
#include <vector>

#include "base/clock.h"
#include "base/guarded.h"
#include "operator/runtime/store.h"

namespace inference::reconcilers {

/// What this process has written and its caches have not shown yet. A reconcile that comes in between sees it, and so
/// neither writes nor tells the same thing twice. Thread-safe.
class OwnWrites {
 public:
  explicit OwnWrites(Clock& clock) : clock_(clock) {}

  struct Written {
    client::Resource resource;
    Object object;  // as the API server answered
    TimePoint at;
  };
  /// `owner` is the InferenceDeployment that it was written for, `cache` that of its kind: what it shows already is not
  /// held.
  void note(const client::ObjectRef& owner, const client::Resource& resource, Object object,
            const runtime::Lister& cache);
  /// What was written for `owner` to objects of `resource` beyond `seen`, the version that its cache has come to.
  /// Forgets what has been seen, and what is older than kTrustedFor.
  [[nodiscard]] std::vector<Object> unseen(const client::ObjectRef& owner, const client::Resource& resource,
                                           std::uint64_t seen);
  /// The cache of `resource` has made this change: what was written to the object up to it need not be held any longer,
  /// and a settled fleet holds nothing. Who reads the cache after `unseen` misses nothing by this.
  void see(const client::Resource& resource, const runtime::Change& change);
  void forget(const client::ObjectRef& owner);

  /// A cache that lags longer is believed again: it may be right (a restored etcd counts versions anew). A watch that
  /// froze is given up after ClientOptions::idle_timeout, and then tells all that happened since, old states first: to
  /// believe those would be to write again what has long been written.
  static constexpr std::chrono::seconds kTrustedFor{120};

 private:
  [[nodiscard]] bool is_seen(const Written& written, std::uint64_t seen) const;

  Clock& clock_;
  Guarded<std::map<client::ObjectRef, std::vector<Written>>> by_owner_;
};

}  // namespace inference::reconcilers
