#include "operator/runtime/lease.h"

#include <algorithm>

#include "base/json_members.h"

namespace inference::runtime {
namespace {

std::int64_t number_at(const Json& spec, const char* key) {
  const auto it = spec.find(key);
  return it != spec.end() && it->is_number_integer() ? std::max(it->get<std::int64_t>(), std::int64_t{0}) : 0;
}

}  // namespace

LeaseRecord read_lease(const Json& lease) {
  const auto spec = lease.find("spec");
  if (spec == lease.end() || !spec->is_object()) return {};
  return {.holder = text_at(*spec, "holderIdentity"),
          .duration = std::chrono::seconds{number_at(*spec, "leaseDurationSeconds")},
          .acquired = text_at(*spec, "acquireTime"),
          .renewed = text_at(*spec, "renewTime"),
          .transitions = number_at(*spec, "leaseTransitions")};
}

Json make_lease(const client::ObjectRef& ref, const LeaseRecord& record, const std::string& resource_version) {
  Json lease = {{"apiVersion", client::resources::kLease.api_version()},
                {"kind", client::resources::kLease.kind},
                {"metadata", {{"name", ref.name}, {"namespace", ref.ns}}},
                {"spec",
                 {{"holderIdentity", record.holder},
                  {"leaseDurationSeconds", record.duration.count()},
                  {"acquireTime", record.acquired},
                  {"renewTime", record.renewed},
                  {"leaseTransitions", record.transitions}}}};
  if (!resource_version.empty()) lease["metadata"]["resourceVersion"] = resource_version;
  return lease;
}

}  // namespace inference::runtime
