// What crd/pod_types.yaml says of pods, by which a podTemplate is judged offline, against the API server: its OpenAPI,
// and its verdict on pods. UPDATE_POD_TYPES=1 writes the file from the API server's OpenAPI.
#include "crd/pod_types.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/source_path.h"
#include "base/yaml_reader.h"
#include "base/yaml_writer.h"
#include "e2e/real_cluster.h"

namespace inference::e2e {
namespace {

constexpr auto kHeader =
    "# What a PodSpec of Kubernetes, and all below it, may hold: the names of the fields and their types. From the API "
    "server's own OpenAPI\n"
    "# (/openapi/v3/api/v1), with which e2e/pod_types_test.cc compares it; with UPDATE_POD_TYPES=1 that test writes "
    "it.\n";

/// Reads the types of the fields out of an OpenAPI v3 document.
class Types {
 public:
  explicit Types(const Json& open_api) : schemas_(open_api.at("components").at("schemas")) {
    add("io.k8s.api.core.v1.PodSpec");
  }
  [[nodiscard]] const Json& all() const { return types_; }

 private:
  static std::string short_name(const std::string& name) { return name.substr(name.rfind('.') + 1); }

  void add(const std::string& name) {
    const auto [place, added] = full_names_.emplace(short_name(name), name);
    EXPECT_EQ(place->second, name) << "two types have one short name";
    if (!added) return;
    types_[short_name(name)] = Json::object();
    for (const auto& [field, schema] : schemas_.at(name).at("properties").items())
      types_[short_name(name)][field] = type_of(schema);
  }

  std::string type_of(const Json& schema) {
    const Json& plain = schema.contains("allOf") ? schema.at("allOf").at(0) : schema;
    if (plain.contains("$ref")) return type_named(plain.at("$ref"));
    const std::string type = plain.at("type");
    if (type == "array") return "list of " + type_of(plain.at("items"));
    if (type == "object") return "map of " + type_of(plain.at("additionalProperties"));
    return type == "integer" ? plain.at("format").get<std::string>() : type;
  }

  std::string type_named(const std::string& reference) {
    const std::string name = reference.substr(reference.rfind('/') + 1);
    const Json& schema = schemas_.at(name);
    if (schema.contains("oneOf")) return schema.value("format", "") == "int-or-string" ? "int-or-string" : "quantity";
    if (schema.contains("properties")) {
      add(name);
      return short_name(name);
    }
    return schema.at("type") == "object" ? "any" : schema.at("type").get<std::string>();
  }

  const Json& schemas_;
  Json types_ = Json::object();
  std::map<std::string, std::string> full_names_;
};

TEST(PodTypes, AreThoseOfTheApiServer) {
  RealCluster& cluster = RealCluster::instance();
  const Json version = Json::parse(cluster.must({"get", "--raw", "/version"}).text);
  const Json open_api = Json::parse(cluster.must({"get", "--raw", "/openapi/v3/api/v1"}).text);
  const Json table = {
      {"kubernetes", version.at("major").get<std::string>() + "." + version.at("minor").get<std::string>()},
      {"types", Types(open_api).all()}};
  if (std::getenv("UPDATE_POD_TYPES") != nullptr)
    std::ofstream(source_path("crd/pod_types.yaml")) << kHeader << write_yaml(table);
  EXPECT_EQ(crd::pod_types(), table) << Json::diff(crd::pod_types(), table).dump(1);
}

// A Deployment whose pod was patched as a podTemplate would, applied as the operator does.
std::expected<Json, client::ApiError> judge(const std::string& ns, const Json& pod) {
  Json object = Json::parse(R"({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "m"}, "spec": {
      "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {}}}})");
  object["metadata"]["namespace"] = ns;
  object["spec"]["template"]["spec"] = pod;
  return RealCluster::instance().api().apply(client::resources::kDeployment, object, {.dry_run = client::DryRun::kAll},
                                             {});
}

// `containers` is filled in where a row does not have it.
Json pod_of(const std::string& yaml) {
  Json pod = read_yaml_documents(yaml).value().at(0).value;
  if (!pod.contains("containers")) pod["containers"] = Json::array({{{"name", "c"}, {"image", "i"}}});
  return pod;
}

TEST(PodTypes, RefuseNothingThatTheApiServerTakes) {
  const Namespace scratch(RealCluster::instance(), "pods");
  for (const std::string yaml : {
           "{}",
           "{terminationGracePeriodSeconds: 30, hostNetwork: true, nodeSelector: {a: b}, hostname: null}",
           "{terminationGracePeriodSeconds: 30.0}",
           "containers: [{name: c, image: i, args: [--seed, null]}]",
           "containers: [{name: c, image: i, env: [{name: A, value: null}]}]",
           "containers: [{name: c, image: i, resources: {limits: {cpu: 1, memory: 0.5Gi}, requests: {cpu: 0.5}}}]",
           "containers: [{name: c, image: i, resources: {limits: {cpu: 1.0, memory: 1e9}}}]",
           "containers: [{name: c, image: i, livenessProbe: {httpGet: {port: http}}}]",
           "containers: [{name: c, image: i, livenessProbe: {tcpSocket: {port: 8000}}}]",
           "volumes: [{name: a, emptyDir: {sizeLimit: 10Gi}}, {name: b, projected: {sources: null}}]",
           "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
           "[{matchExpressions: [{key: a, operator: Exists}]}]}}}",
       }) {
    const Json pod = pod_of(yaml);
    const auto answer = judge(scratch.name(), pod);
    EXPECT_TRUE(answer.has_value()) << yaml << ": " << answer.error().to_string();
    for (const auto& fault : crd::check_pod_spec(pod, "spec", crd::UnknownFields::kRefuse))
      ADD_FAILURE() << yaml << ": " << to_string(fault);
  }
}

TEST(PodTypes, RefuseOnlyWhatTheApiServerRefuses) {
  const Namespace scratch(RealCluster::instance(), "pods");
  for (const std::string yaml : {
           "bogusField: 1",
           "containers: [{name: c, image: i, bogusField: null}]",
           "volumes: foo",
           "volumes: [foo]",
           "terminationGracePeriodSeconds: abc",
           "terminationGracePeriodSeconds: \"30\"",
           "priority: 1.5",
           "hostNetwork: \"true\"",
           "schedulerName: 1",
           "nodeSelector: {a: true}",
           "nodeSelector: [a]",
           "affinity: 3",
           "containers: [{name: c, image: i, args: [--seed, 1]}]",
           "containers: [{name: c, image: i, env: [{name: A, value: 1}]}]",
           "containers: [{name: c, image: i, resources: {limits: {cpu: lots}}}]",
           "containers: [{name: c, image: i, resources: {limits: {cpu: true}}}]",
           "containers: [{name: c, image: i, livenessProbe: {httpGet: {port: {a: 1}}}}]",
           "containers: [{name: c, image: i, livenessProbe: {httpGet: {port: 1.5}}}]",
       }) {
    const Json pod = pod_of(yaml);
    EXPECT_FALSE(judge(scratch.name(), pod).has_value()) << yaml << ": the API server takes it";
    EXPECT_EQ(crd::check_pod_spec(pod, "spec", crd::UnknownFields::kRefuse).size(), 1U) << yaml;
  }
}

// Server-side apply makes another number of one that 32 bits can't hold, without a word.
TEST(PodTypes, RefuseANumberThatTheApiServerWouldChange) {
  const Namespace scratch(RealCluster::instance(), "pods");
  const Json pod = pod_of("priority: 3000000000");
  const auto answer = judge(scratch.name(), pod);
  ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
  EXPECT_EQ(answer->at("/spec/template/spec/priority"_json_pointer), -1294967296);
  EXPECT_EQ(crd::check_pod_spec(pod, "spec", crd::UnknownFields::kPass).size(), 1U);
}

}  // namespace
}  // namespace inference::e2e
