#include "e2e/real_cluster.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iostream>

#include "base/source_path.h"
#include "operator/client/client_config.h"
#include "operator/client/error_class.h"

namespace inference::e2e {
namespace {

[[noreturn]] void give_up(const std::string& why) {
  std::cerr << "error: " << why << "\n";
  std::_Exit(1);
}

std::string folder_of(const std::string& file) {
  return file.substr(0, file.rfind('/'));
}

}  // namespace

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0')
    give_up(std::string(name) + " is not set: run these tests by ./dev test --only cluster");
  return value;
}

RealCluster& RealCluster::instance() {
  static RealCluster cluster(environment("INFERENCE_TEST_KUBECONFIG"), Install::kYes);
  return cluster;
}

RealCluster::RealCluster(std::string kubeconfig, Install install)
    : kubeconfig_(std::move(kubeconfig)), kubectl_(environment("INFERENCE_TEST_KUBECTL")) {
  const auto config = client::load_config({.kubeconfig = kubeconfig_, .context = {}});
  if (!config) give_up(config.error().message);
  auto api = client::ApiClient::make(*config, clock_);
  if (!api) give_up(api.error().message);
  api_ = std::move(*api);
  if (install == Install::kNo) return;
  must({"apply", "--server-side", "-k", source_path("config/cluster")});
  must({"wait", "--for=condition=Established", "--timeout=60s", "crd/inferencedeployments.inference-operator.dev",
        "crd/inferenceprofiles.inference-operator.dev"});
}

Output RealCluster::kubectl(std::vector<std::string> arguments, const std::string& input) const {
  arguments.insert(arguments.begin(), {kubectl_, "--kubeconfig", kubeconfig_});
  return run(arguments, input);
}

Output RealCluster::must(std::vector<std::string> arguments, const std::string& input) const {
  std::string command;
  for (const auto& argument : arguments) command += " " + argument;
  Output output = kubectl(std::move(arguments), input);
  EXPECT_EQ(output.exit_code, 0) << "kubectl" << command << ": " << output.text;
  return output;
}

std::string RealCluster::server() const {
  return client::load_config({.kubeconfig = kubeconfig_, .context = {}})->server;
}

std::string RealCluster::account_kubeconfig(const std::string& ns, const std::string& account,
                                            const std::string& server) const {
  const Output token = must({"create", "token", account, "-n", ns, "--duration", "1h"});
  const Output authority = must({"config", "view", "--raw", "--flatten", "--minify", "-o",
                                 "jsonpath={.clusters[0].cluster.certificate-authority-data}"});
  const Json text = {
      {"apiVersion", "v1"},
      {"kind", "Config"},
      {"clusters",
       {{{"name", "c"}, {"cluster", {{"server", server}, {"certificate-authority-data", authority.text}}}}}},
      {"users", {{{"name", "u"}, {"user", {{"token", token.text.substr(0, token.text.find('\n'))}}}}}},
      {"contexts", {{{"name", "x"}, {"context", {{"cluster", "c"}, {"user", "u"}}}}}},
      {"current-context", "x"}};
  std::string file = "/tmp/inference-operator-kubeconfig-XXXXXX";  // mkstemp gives it mode 0600: there is a token in it
  close(mkstemp(file.data()));
  std::ofstream(file) << text.dump();
  return file;
}

namespace {

/// What `call` gives, tried again for some minutes while only time is needed: a machine that is busy or stands still is
/// no finding. The calls are all such as can be made twice.
template <typename Call>
auto patiently(Clock& clock, Call call) {
  using Remedy = client::ErrorClass::Remedy;
  const TimePoint give_up = clock.now() + std::chrono::minutes{5};
  for (;;) {
    auto result = call();
    if (result || result.error().is_not_found() || clock.now() > give_up) return result;
    const Remedy remedy = client::classify(result.error()).remedy;
    if (remedy != Remedy::kBackoff && remedy != Remedy::kWait) return result;
    (void)sleep(clock, std::chrono::seconds{1}, {});
  }
}

}  // namespace

bool RealCluster::serves(const client::Resource& resource) {
  const std::string version = (resource.group.empty() ? "/api/" : "/apis/") + resource.api_version();
  const auto kinds = patiently(clock_, [&] { return api_->get_raw(version, {}); });
  if (!kinds) {
    if (!kinds.error().is_not_found()) ADD_FAILURE() << "get " << version << ": " << kinds.error().to_string();
    return false;
  }
  return std::ranges::any_of(kinds->at("resources"),
                             [&](const Json& kind) { return kind.at("name") == resource.plural; });
}

Json RealCluster::get(const client::Resource& resource, const std::string& ns, const std::string& name) {
  auto object = patiently(clock_, [&] { return api_->get(resource, {ns, name}, {}); });
  if (!object && !object.error().is_not_found()) ADD_FAILURE() << "get " << name << ": " << object.error().to_string();
  return object ? std::move(*object) : Json();
}

std::vector<Json> RealCluster::list(const client::Resource& resource, const std::string& ns,
                                    const std::string& selector) {
  auto page =
      patiently(clock_, [&] { return api_->list(resource, {.ns = ns, .label_selector = selector, .limit = 0}, {}); });
  if (!page) ADD_FAILURE() << "list " << resource.plural << ": " << page.error().to_string();
  return page ? std::move(page->items) : std::vector<Json>();
}

void RealCluster::apply(const Json& object) {
  const client::Resource* resource = client::find_resource(object.value("apiVersion", ""), object.value("kind", ""));
  ASSERT_NE(resource, nullptr) << object.dump();
  const auto applied = patiently(clock_, [&] {
    return api_->apply(*resource, object, {.force = client::Force::kYes, .field_manager = "a-user"}, {});
  });
  ASSERT_TRUE(applied.has_value()) << applied.error().to_string();
}

void RealCluster::remove(const client::Resource& resource, const std::string& ns, const std::string& name) {
  const auto removed = patiently(clock_, [&] { return api_->remove(resource, {ns, name}, {}, {}); });
  EXPECT_TRUE(removed.has_value() || removed.error().is_not_found()) << removed.error().to_string();
}

void RealCluster::add_nodes(const std::string& product, int first, int count, int gpus) {
  Json items = Json::array();
  for (int index = first; index < first + count; ++index) {
    const std::string name = product + "-" + std::to_string(index);
    const Json resources = {
        {"cpu", "128"}, {"memory", "2Ti"}, {"pods", "110"}, {"nvidia.com/gpu", std::to_string(gpus)}};
    items.push_back(
        {{"apiVersion", "v1"},
         {"kind", "Node"},
         {"metadata",
          {{"name", name},
           {"labels",
            {{"kubernetes.io/hostname", name}, {"kubernetes.io/os", "linux"}, {"nvidia.com/gpu.product", product}}},
           {"annotations", {{"kwok.x-k8s.io/node", "fake"}}}}},
         {"spec", {{"taints", {{{"key", "nvidia.com/gpu"}, {"value", "present"}, {"effect", "NoSchedule"}}}}}},
         {"status", {{"allocatable", resources}, {"capacity", resources}}}});
  }
  must({"create", "-f", "-"}, Json{{"apiVersion", "v1"}, {"kind", "List"}, {"items", items}}.dump());
  must({"wait", "--for=condition=Ready", "--timeout=60s", "nodes", "-l", "nvidia.com/gpu.product=" + product});
}

void RealCluster::remove_nodes(const std::string& product) {
  must({"delete", "nodes", "-l", "nvidia.com/gpu.product=" + product, "--wait=false"});
}

std::vector<Json> RealCluster::operator_audit() const {
  std::ifstream file(folder_of(kubeconfig_) + "/audit.log");
  EXPECT_TRUE(file.is_open()) << "no audit log beside " << kubeconfig_;
  std::vector<Json> events;
  for (std::string line; std::getline(file, line);) {
    Json event = Json::parse(line, nullptr, false);
    if (!event.is_discarded() && event.value("stage", "") == "ResponseComplete") events.push_back(std::move(event));
  }
  return events;
}

std::vector<std::string> RealCluster::operator_writes(const std::string& ns) const {
  std::vector<std::string> writes;
  for (const Json& event : operator_audit()) {
    if (event.value("/objectRef/namespace"_json_pointer, "") == ns)
      writes.push_back(event.value("verb", "") + " " + event.value("requestURI", ""));
  }
  return writes;
}

Namespace::Namespace(RealCluster& cluster, const std::string& prefix) : cluster_(cluster) {
  static std::atomic<int> count = 0;
  name_ = prefix + "-" + std::to_string(getpid()) + "-" + std::to_string(++count);
  cluster_.must({"create", "namespace", name_});
}

Namespace::~Namespace() {
  if (!removed_) cluster_.must({"delete", "namespace", name_, "--wait=false"});
}

void Namespace::remove() {
  if (removed_) return;
  removed_ = true;
  cluster_.must({"delete", "namespace", name_, "--timeout=240s"});
}

namespace {
Json find_condition(const Json& object, const std::string& type) {
  if (object.is_null()) return nullptr;
  for (const Json& found : object.value("/status/conditions"_json_pointer, Json::array())) {
    if (found.value("type", "") == type) return found;
  }
  return nullptr;
}
}  // namespace

std::string condition(const Json& object, const std::string& type) {
  const Json found = find_condition(object, type);
  return found.is_null() ? "" : found.value("status", "") + "/" + found.value("reason", "");
}

std::string condition_message(const Json& object, const std::string& type) {
  const Json found = find_condition(object, type);
  return found.is_null() ? "" : found.value("message", "");
}

}  // namespace inference::e2e
