// `kubectl inference audit --live` on the real API server: what it defaults, who may read it, and that it takes our
// patches.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "base/source_path.h"
#include "e2e/real_cluster.h"

namespace inference::e2e {
namespace {

using Rules = std::vector<std::string>;

/// A Deployment as tutorials write it, on the fake nodes.
Json deployment(const std::string& ns) {
  const Json health = {{"httpGet", {{"path", "/health"}, {"port", 8000}}}};
  const Json container = {
      {"name", "vllm"},
      {"image", "vllm/vllm-openai:v0.33.0"},
      {"args", {"--model", "/models/qwen", "--swap-space", "4"}},
      {"env", {{{"name", "VLLM_USE_V1"}, {"value", "1"}}}},
      {"ports", Json::array({Json{{"containerPort", 8000}}})},
      {"resources", {{"limits", {{"cpu", "4"}, {"memory", "32Gi"}, {"nvidia.com/gpu", "1"}}}}},
      {"livenessProbe", health},
      {"volumeMounts", {{{"name", "models"}, {"mountPath", "/models"}}}},
  };
  return {{"apiVersion", "apps/v1"},
          {"kind", "Deployment"},
          {"metadata", {{"name", "qwen"}, {"namespace", ns}}},
          {"spec",
           {{"replicas", 1},
            {"selector", {{"matchLabels", {{"app", "qwen"}}}}},
            {"template",
             {{"metadata", {{"labels", {{"app", "qwen"}}}}},
              {"spec",
               {{"containers", Json::array({container})},
                {"volumes", {{{"name", "models"}, {"hostPath", {{"path", "/var/cache/models"}}}}}}}}}}}}};
}

class Audit : public testing::Test {
 protected:
  Audit() : namespace_(cluster_, "audit") {}
  [[nodiscard]] const std::string& ns() const { return namespace_.name(); }
  [[nodiscard]] Output audit(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(),
                     {KUBECTL_INFERENCE, "audit", "--live", "-n", ns(), "--kubeconfig", cluster_.kubeconfig()});
    return run(arguments);
  }
  /// The rules that find something, sorted, each as often as it does.
  [[nodiscard]] Rules found(const std::string& severity = "warn") const {
    Rules rules;
    const Json all = Json::parse(audit({"-o", "json", "--severity", severity}).text, nullptr, false);
    if (all.is_discarded()) return {"no JSON"};
    for (const Json& finding : all["findings"]) rules.push_back(finding["rule"]);
    std::ranges::sort(rules);
    return rules;
  }

  RealCluster& cluster_ = RealCluster::instance();
  Namespace namespace_;
};

TEST_F(Audit, JudgesWhatTheApiServerMadeOfAWorkloadAndNotItsChildren) {
  cluster_.apply(deployment(ns()));
  ASSERT_TRUE(eventually([&] { return !cluster_.list(client::resources::kPod, ns()).empty(); }));
  EXPECT_EQ(found(), (Rules{"drain-hook", "gpu-node-selection", "gpu-toleration", "grace-period", "liveness-aggressive",
                            "models-read-only", "readiness-probe", "removed-flags", "removed-flags", "rollout-surge",
                            "service-links", "shm-size", "startup-probe", "threads-from-quota"}))
      << "requests that the server copied from limits are equal";
  EXPECT_EQ(audit({}).exit_code, 1);
}

TEST_F(Audit, WritesPatchesThatTheApiServerTakes) {
  cluster_.apply(deployment(ns()));
  const Json fixes = Json::parse(audit({"--fix", "-o", "json"}).text);
  ASSERT_EQ(fixes["patches"].size(), 1U);
  cluster_.must(
      {"patch", "deployment", "qwen", "-n", ns(), "--type", "json", "-p", fixes["patches"][0]["patch"].dump()});
  EXPECT_EQ(found(), (Rules{"gpu-node-selection", "removed-flags"})) << "which a person has to decide";
}

TEST_F(Audit, FindsNothingInWhatWeRender) {
  for (const char* sample : {"llama-70b", "llama-405b"}) {
    std::ifstream file(source_path("config/samples/") + sample + ".yaml");
    std::string model(std::istreambuf_iterator<char>(file), {});
    model.insert(model.find("metadata:\n") + 10, "  namespace: " + ns() + "\n");
    const Output rendered = run({KUBECTL_INFERENCE, "render", "--cluster", "lws,native", "-f", "-"}, model);
    cluster_.must({"apply", "--server-side", "-f", "-"}, rendered.text);
  }
  EXPECT_EQ(found(), Rules{});
  EXPECT_EQ(audit({}).exit_code, 0);
}

TEST_F(Audit, ReadsWhatTheCallerMayReadAndTellsTheRest) {
  cluster_.apply(deployment(ns()));
  cluster_.must({"create", "serviceaccount", "reader", "-n", ns()});
  cluster_.must({"create", "role", "reader", "-n", ns(), "--verb", "list", "--resource", "deployments.apps,pods"});
  cluster_.must(
      {"create", "rolebinding", "reader", "-n", ns(), "--role", "reader", "--serviceaccount", ns() + ":reader"});
  const std::string config = cluster_.account_kubeconfig(ns(), "reader", cluster_.server());
  const auto audit_as_reader = [&] {
    return run({KUBECTL_INFERENCE, "audit", "--live", "-n", ns(), "--kubeconfig", config});
  };
  const Output told = audit_as_reader();
  EXPECT_EQ(told.exit_code, 1);
  EXPECT_NE(told.text.find("note: statefulsets.apps: 403"), std::string::npos) << told.text;
  EXPECT_NE(told.text.find("Deployment " + ns() + "/qwen (cluster)"), std::string::npos) << told.text;
  cluster_.must({"delete", "rolebinding", "reader", "-n", ns()});
  const Output blind = audit_as_reader();
  EXPECT_EQ(blind.exit_code, 1);
  EXPECT_NE(blind.text.find("error: no kind of workload may be listed"), std::string::npos) << blind.text;
  EXPECT_EQ(run({"rm", config}).exit_code, 0);
}

}  // namespace
}  // namespace inference::e2e
