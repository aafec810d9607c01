#include "reconcilers/queue_facts.h"

#include <map>
#include <set>

#include "base/json_members.h"

namespace inference::reconcilers {
namespace {

using client::ApiError;
using namespace nlohmann::literals;

/// Null when there is no such object.
std::expected<Json, ApiError> find(client::ApiClient& api, const client::Resource& resource,
                                   const client::ObjectRef& ref, std::stop_token stop) {
  auto object = api.get(resource, ref, stop);
  if (!object && object.error().is_not_found()) return Json();
  return object;
}

/// Kueue's own words when its condition Active is False; else empty.
std::string why_inactive(const Json& object) {
  const Json& active = condition_of(object, "Active");
  return text_at(active, "status") == "False" ? text_at(active, "message") : "";
}

}  // namespace

std::expected<render::QueueFacts, ApiError> ask_queue(client::ApiClient& api, const std::string& ns,
                                                      const std::string& name, std::stop_token stop) {
  using namespace client::resources;
  render::QueueFacts facts{.exists = false, .fault = {}, .covered = {}};
  const auto local = find(api, kLocalQueue, {ns, name}, stop);
  if (!local) return std::unexpected(local.error());
  if (local->is_null()) return facts;
  facts.exists = true;

  const std::string behind = local->value("/spec/clusterQueue"_json_pointer, "");
  const auto cluster = find(api, kClusterQueue, {"", behind}, stop);
  if (!cluster) return std::unexpected(cluster.error());
  if (cluster->is_null()) {
    facts.fault = "there is no ClusterQueue " + behind;
    return facts;
  }
  facts.fault = why_inactive(*cluster);
  if (facts.fault.empty()) facts.fault = why_inactive(*local);

  facts.covered.emplace();
  std::map<std::string, bool> has_topology;  // by flavor; one that is not there makes the queue inactive, see above
  for (const Json& group : cluster->value("/spec/resourceGroups"_json_pointer, Json::array())) {
    std::set<std::string> flat;
    for (const Json& entry : group.value("flavors", Json::array())) {
      const std::string flavor = text_at(entry, "name");
      if (!has_topology.contains(flavor)) {
        const auto object = find(api, kResourceFlavor, {"", flavor}, stop);
        if (!object) return std::unexpected(object.error());
        has_topology[flavor] = object->is_null() || !object->value("/spec/topologyName"_json_pointer, "").empty();
      }
      if (!has_topology[flavor]) flat.insert(flavor);
    }
    for (const Json& resource : group.value("coveredResources", Json::array())) {
      if (resource.is_string()) (*facts.covered)[resource].assign(flat.begin(), flat.end());
    }
  }
  return facts;
}

}  // namespace inference::reconcilers
