#include "reconcilers/gates/node.h"

#include <gtest/gtest.h>

#include "operator/client/field_mask.h"
#include "reconcilers/gates/fixtures.h"

namespace inference::reconcilers::gates {
namespace {

bool admits_spec(const Json& changes, Json node = node_object("n1")) {
  Json pod = plain_pod("p", 8);
  pod["spec"].update(changes);
  return admits(read_node(node), needs_of(pod));
}

Json affinity(const Json& terms) {
  return {{"affinity",
           {{"nodeAffinity", {{"requiredDuringSchedulingIgnoredDuringExecution", {{"nodeSelectorTerms", terms}}}}}}}};
}

bool requirement_matches(const std::string& key, const std::string& op, const Json& values) {
  Json node = node_object("n1");
  node["metadata"]["labels"]["generation"] = "9";
  return admits_spec(affinity({{{"matchExpressions", {{{"key", key}, {"operator", op}, {"values", values}}}}}}), node);
}

TEST(Node, IsClosedWhileNotReadyOrCordoned) {
  EXPECT_TRUE(admits_spec(Json::object()));
  Json node = node_object("n1");
  node["spec"]["unschedulable"] = true;
  EXPECT_FALSE(admits_spec(Json::object(), node));
  node = node_object("n1");
  node["status"]["conditions"][0]["status"] = "Unknown";
  EXPECT_FALSE(admits_spec(Json::object(), node));
}

TEST(Node, AdmitsWhoToleratesItsTaints) {
  const auto tolerates = [](const Json& tolerations) { return admits_spec({{"tolerations", tolerations}}); };
  EXPECT_FALSE(tolerates(Json::array()));
  EXPECT_TRUE(tolerates({{{"operator", "Exists"}}}));
  EXPECT_TRUE(tolerates({{{"key", "nvidia.com/gpu"}, {"operator", "Exists"}, {"effect", "NoSchedule"}}}));
  EXPECT_FALSE(tolerates({{{"key", "nvidia.com/gpu"}, {"operator", "Exists"}, {"effect", "NoExecute"}}}));
  EXPECT_TRUE(tolerates({{{"key", "nvidia.com/gpu"}, {"value", "present"}}}));
  EXPECT_FALSE(tolerates({{{"key", "nvidia.com/gpu"}, {"operator", "Equal"}, {"value", "absent"}}}));
  Json soft = node_object("n1");
  soft["spec"]["taints"][0]["effect"] = "PreferNoSchedule";
  EXPECT_TRUE(admits_spec({{"tolerations", Json::array()}}, soft));
}

TEST(Node, AdmitsWhoseSelectorItMatches) {
  EXPECT_TRUE(admits_spec({{"nodeSelector", {{"product", "H100"}}}}));
  EXPECT_FALSE(admits_spec({{"nodeSelector", {{"product", "A100"}}}}));
  EXPECT_FALSE(admits_spec({{"nodeSelector", {{"zone", "a"}}}}));
}

TEST(Node, AdmitsByEveryOperatorOfNodeAffinity) {
  EXPECT_TRUE(requirement_matches("product", "In", {"A100", "H100"}));
  EXPECT_FALSE(requirement_matches("product", "In", {"A100"}));
  EXPECT_FALSE(requirement_matches("product", "NotIn", {"A100", "H100"}));
  EXPECT_TRUE(requirement_matches("zone", "NotIn", {"a"}));
  EXPECT_TRUE(requirement_matches("product", "Exists", Json::array()));
  EXPECT_FALSE(requirement_matches("zone", "Exists", Json::array()));
  EXPECT_TRUE(requirement_matches("zone", "DoesNotExist", Json::array()));
  EXPECT_TRUE(requirement_matches("generation", "Gt", {"8"}));
  EXPECT_FALSE(requirement_matches("generation", "Gt", {"9"}));
  EXPECT_TRUE(requirement_matches("generation", "Lt", {"10"}));
  EXPECT_FALSE(requirement_matches("product", "Lt", {"10"}));
  EXPECT_FALSE(requirement_matches("zone", "Lt", {"10"}));
}

TEST(Node, NeedsOneTermOfNodeAffinityToMatchWhole) {
  const Json here = {{{"key", "metadata.name"}, {"operator", "In"}, {"values", {"n1"}}}};
  const Json there = {{{"key", "metadata.name"}, {"operator", "In"}, {"values", {"n2"}}}};
  const Json product = {{{"key", "product"}, {"operator", "Exists"}}};
  EXPECT_TRUE(admits_spec(affinity({{{"matchFields", here}, {"matchExpressions", product}}})));
  EXPECT_FALSE(admits_spec(affinity({{{"matchFields", there}, {"matchExpressions", product}}})));
  EXPECT_TRUE(admits_spec(affinity({{{"matchFields", there}}, {{"matchFields", here}}})));
  EXPECT_FALSE(admits_spec(affinity(Json::array({Json::object()}))));
}

TEST(Node, LosesRoomToBoundPodsUntilTheyHaveEnded) {
  std::vector<Node> nodes = {read_node(node_object("n1")), read_node(node_object("n2"))};
  Json pod = plain_pod("a", 3, "n1");
  pod["metadata"]["deletionTimestamp"] = "2026-11-30T10:00:00Z";  // still there
  occupy(nodes, pod);
  Json ended = plain_pod("b", 3, "n1");
  ended["status"]["phase"] = "Succeeded";
  occupy(nodes, ended);
  occupy(nodes, plain_pod("c", 3));
  occupy(nodes, plain_pod("d", 3, "elsewhere"));
  EXPECT_EQ(gpus_in(nodes[0].free), 5);
  EXPECT_EQ(gpus_in(nodes[1].free), 8);
  EXPECT_EQ(gpus_in(nodes[0].most), 8);
}

TEST(Node, CountsAPodTheSameByTheFieldsThatAreCached) {
  Json pod = plain_pod("a", 3, "n1");
  pod["spec"]["containers"][0]["env"] = {{{"name", "A"}, {"value", "1"}}};
  pod["spec"]["initContainers"] = {
      {{"name", "i"}, {"restartPolicy", "Always"}, {"resources", {{"requests", {{"cpu", "9"}}}}}}};
  const auto cached = client::FieldMask::only(fields_of_occupants()).parse(pod.dump(), 0);
  ASSERT_TRUE(cached.has_value());
  EXPECT_EQ(crd::requests_of(*cached), crd::requests_of(pod));
  EXPECT_FALSE((*cached)["spec"]["containers"][0].contains("env"));
}

TEST(Node, NeverHasTheRoomOfDaemonSetsPods) {
  std::vector<Node> nodes = {read_node(node_object("n1"))};
  Json pod = plain_pod("a", 0, "n1");
  pod["metadata"]["ownerReferences"] = {{{"kind", "DaemonSet"}, {"name", "d"}}};
  occupy(nodes, pod);
  EXPECT_EQ(nodes[0].most["cpu"].to_string(), "63");
  EXPECT_EQ(nodes[0].free["cpu"].to_string(), "63");
}

}  // namespace
}  // namespace inference::reconcilers::gates
