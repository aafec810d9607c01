#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/json.h"
#include "operator/client/resource.h"

namespace inference::runtime {

/// What the spec of a coordination.k8s.io/v1 Lease says. The two times are kept as text: another machine's clock is
/// good for telling that something changed, and for nothing else.
struct LeaseRecord {
  std::string holder = {};           // empty: released
  std::chrono::seconds duration{0};  // for how long after a renewal others stay away
  std::string acquired = {};
  std::string renewed = {};
  std::int64_t transitions = 0;  // how often the holder has changed
  bool operator==(const LeaseRecord&) const = default;
};

/// Whatever is missing or of another type is as a fresh record has it: people can edit Leases. Pure.
[[nodiscard]] LeaseRecord read_lease(const Json& lease);

/// The object to write. With `resource_version` the API server refuses it (409) once anyone else has written. Pure.
[[nodiscard]] Json make_lease(const client::ObjectRef& ref, const LeaseRecord& record,
                              const std::string& resource_version);

}  // namespace inference::runtime
