#include "e2e/faults/expected_world.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <set>

#include "operator/runtime/object_meta.h"
#include "reconcilers/children.h"

namespace inference::e2e {
namespace {

using namespace client::resources;

std::string title(const Json& object) {
  return object.value("kind", "") + " " + object["metadata"].value("name", "");
}

std::string model_of(const Json& object) {
  return object.value("/metadata/labels/inference-operator.dev~1name"_json_pointer, "");
}

Json list_of(const Json& items) {
  return {{"apiVersion", "v1"}, {"kind", "List"}, {"items", items}};
}

/// What the command prints; notices go to standard error, which is not read.
std::vector<Json> render(const std::map<std::string, Json>& wanted, const Json& profile) {
  std::string profile_file = "/tmp/inference-faults-profile-XXXXXX";
  close(mkstemp(profile_file.data()));
  std::ofstream(profile_file) << profile.dump();
  Json items = Json::array();
  for (const auto& [name, object] : wanted) items.push_back(object);
  const Output output = run({"sh", "-c", R"(exec "$0" render -f - --profile "$1" --cluster native -o json 2>/dev/null)",
                             KUBECTL_INFERENCE, profile_file},
                            list_of(items).dump());
  unlink(profile_file.c_str());
  EXPECT_EQ(output.exit_code, 0) << "kubectl-inference refuses what the API server took";
  const Json list = Json::parse(output.text, nullptr, false);
  return list.is_object() ? list["items"].get<std::vector<Json>>() : std::vector<Json>();
}

/// Kubernetes' and LeaderWorkerSet's own, which are there beside ours.
bool is_of_others(const Json& object) {
  if (title(object) == "ConfigMap kube-root-ca.crt") return true;
  const auto owners = runtime::owners_of(object);
  return object["kind"] == "Service" &&
         std::ranges::any_of(owners, [](const auto& owner) { return owner.kind == "LeaderWorkerSet"; });
}

bool has_pods(const Json& model) {
  return !model["spec"].value("suspend", false);
}

/// Without what the API server notes about it and what controllers report.
Json content_of(Json object) {
  object["metadata"].erase("managedFields");
  object.erase("status");
  return object;
}

}  // namespace

ExpectedWorld::ExpectedWorld(RealCluster& cluster, std::string ns, std::map<std::string, Json> wanted,
                             const Json& profile)
    : cluster_(cluster), ns_(std::move(ns)), wanted_(std::move(wanted)) {
  for (Json& object : render(wanted_, profile)) {
    std::string key = title(object);
    rendered_.emplace(std::move(key), std::move(object));
  }
}

std::vector<std::string> ExpectedWorld::differences() {
  std::vector<std::string> found;
  find_models(found);
  find_children(found);
  find_pods(found);
  return found;
}

void ExpectedWorld::find_models(std::vector<std::string>& found) {
  live_.clear();
  for (Json& object : cluster_.list(kInferenceDeployment, ns_)) {
    const std::string name = object["metadata"]["name"];
    const auto wanted = wanted_.find(name);
    if (wanted == wanted_.end()) {
      found.push_back(title(object) + ": is too many");
      continue;
    }
    const std::string ready = condition(object, "Ready");
    if (object.value("/status/observedGeneration"_json_pointer, 0) != object["metadata"]["generation"])
      found.push_back(title(object) + ": status is of an older generation");
    if (ready != (has_pods(wanted->second) ? "True/AllReplicasReady" : "True/Suspended"))
      found.push_back(title(object) + ": Ready is " + ready + ": " + condition_message(object, "Ready"));
    live_.emplace(name, std::move(object));
  }
  for (const auto& [name, object] : wanted_) {
    if (!live_.contains(name)) found.push_back(title(object) + ": is missing");
  }
}

void ExpectedWorld::find_children(std::vector<std::string>& found) {
  std::set<std::string> seen;
  for (const client::Resource& kind : reconcilers::child_kinds()) {
    if (!cluster_.serves(kind)) continue;
    for (const Json& object : cluster_.list(kind, ns_)) {
      if (is_of_others(object)) continue;
      const auto expected = rendered_.find(title(object));
      if (expected == rendered_.end()) {
        found.push_back(title(object) + ": is too many");
        continue;
      }
      seen.insert(expected->first);
      const auto model = live_.find(model_of(expected->second));
      if (model == live_.end()) continue;
      const auto owners = runtime::owners_of(object);
      if (owners.size() != 1 || owners[0].uid != runtime::uid_of(model->second))
        found.push_back(title(object) + ": is owned by another");
    }
  }
  for (const auto& [key, object] : rendered_) {
    if (!seen.contains(key)) found.push_back(key + ": is missing");
  }
}

void ExpectedWorld::find_pods(std::vector<std::string>& found) {
  std::map<std::string, std::int64_t> count;
  for (const Json& pod : cluster_.list(kPod, ns_)) ++count[model_of(pod)];
  for (const auto& [name, object] : wanted_) {
    const Json& spec = object["spec"];
    const auto expected =
        has_pods(object) ? spec["replicas"].get<std::int64_t>() * spec.value("nodes", std::int64_t{1}) : 0;
    if (count[name] != expected)
      found.push_back("pods of " + name + ": " + std::to_string(count[name]) + " and not " + std::to_string(expected));
    count.erase(name);
  }
  for (const auto& [name, pods] : count) found.push_back("pods of " + name + ": are too many");
}

std::vector<std::string> ExpectedWorld::stale_children() {
  std::vector<std::string> found;
  for (const auto& [key, object] : rendered_) {
    const client::Resource* kind = client::find_resource(object.value("apiVersion", ""), object.value("kind", ""));
    const Json live = cluster_.get(*kind, ns_, object["metadata"]["name"]);
    const Json desired = reconcilers::as_child(object, live_[model_of(object)]);
    const auto again =
        cluster_.api().apply(*kind, desired, {.force = client::Force::kYes, .dry_run = client::DryRun::kAll}, {});
    if (!again) {
      found.push_back(key + ": " + again.error().to_string());
    } else if (content_of(*again) != content_of(live)) {
      found.push_back(key + ": " + Json::diff(content_of(live), content_of(*again)).dump());
    }
  }
  return found;
}

}  // namespace inference::e2e
