#include "crd/schema.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <map>
#include <set>

#include "base/source_path.h"
#include "crd/embedded_crds.h"
#include "crd/wire_names.h"

namespace inference::crd {
namespace {

Json open_api(std::string_view crd) {
  return Json::parse(crd).at("/spec/versions/0/schema/openAPIV3Schema"_json_pointer);
}

// Every node of a schema with its path, fields of objects and items of lists alike.
void walk(const Json& node, const std::string& path,
          const std::function<void(const Json&, const std::string&)>& visit) {
  visit(node, path);
  if (node.contains("properties")) {
    for (const auto& [name, child] : node.at("properties").items()) {
      // ObjectMeta is the API server's own.
      if (path.empty() && name == "metadata") continue;
      walk(child, path.empty() ? name : path + "." + name, visit);
    }
  }
  if (node.contains("items")) walk(node.at("items"), path + "[*]", visit);
  if (node.contains("additionalProperties")) walk(node.at("additionalProperties"), path + ".*", visit);
}

void walk_both(const std::function<void(const Json&, const std::string&)>& visit) {
  walk(open_api(kInferenceDeploymentsCrd), "", visit);
  walk(open_api(kInferenceProfilesCrd), "", visit);
}

TEST(Crd, BoundsEverythingThatAUserCanWrite) {
  walk_both([](const Json& node, const std::string& path) {
    const std::string type = node.value("type", "");
    const bool int_or_string = node.value("x-kubernetes-int-or-string", false);
    if (type == "string" || int_or_string) {
      EXPECT_TRUE(node.contains("maxLength")) << path;
    }
    if (type == "integer" || int_or_string) {
      EXPECT_TRUE(node.contains("minimum") && node.contains("maximum")) << path;
    }
    if (type == "array") {
      EXPECT_TRUE(node.contains("maxItems") && node.contains("x-kubernetes-list-type")) << path;
    }
    const bool open =
        node.contains("additionalProperties") || node.value("x-kubernetes-preserve-unknown-fields", false);
    if (open) {
      EXPECT_TRUE(node.contains("maxProperties")) << path;
    }
    EXPECT_TRUE(open || int_or_string || !type.empty()) << path;
  });
}

TEST(Crd, DescribesEveryFieldInOneLine) {
  walk_both([](const Json& node, const std::string& path) {
    if (path.ends_with(".*") || (path.ends_with("[*]") && node.value("type", "") != "object"))
      return;  // the list or map says it
    const std::string text = node.value("description", "");
    EXPECT_TRUE(text.ends_with('.') && text.find('\n') == std::string::npos) << path << ": " << text;
  });
}

TEST(Crd, DefaultsNothingInStoredObjects) {
  walk_both([](const Json& node, const std::string& path) { EXPECT_FALSE(node.contains("default")) << path; });
}

TEST(Crd, StaysSmallEnoughForClientSideApply) {
  for (const char* file : {"crd/inferencedeployments.yaml", "crd/inferenceprofiles.yaml"}) {
    EXPECT_LT(std::filesystem::file_size(source_path(file)), 100'000U) << file;
  }
  EXPECT_LT(kInferenceDeploymentsCrd.size(), 100'000U);
  EXPECT_LT(kInferenceProfilesCrd.size(), 100'000U);
}

TEST(Crd, GivesAProfileTheSameFieldsAsADeployment) {
  const Json spec = open_api(kInferenceDeploymentsCrd).at("properties").at("spec").at("properties");
  const Json defaults =
      open_api(kInferenceProfilesCrd).at("/properties/spec/properties/defaults/properties"_json_pointer);
  const std::set<std::string> of_one_object = {"model",       "parallelism",   "nodes",   "replicas", "profileRef",
                                               "autoscaling", "profilePolicy", "gateway", "suspend"};
  for (const auto& [name, node] : spec.items()) {
    EXPECT_EQ(defaults.contains(name), !of_one_object.contains(name)) << name;
    if (defaults.contains(name)) {
      EXPECT_EQ(defaults.at(name), node) << name;
    }
  }
  for (const auto& [name, node] : defaults.items()) EXPECT_TRUE(spec.contains(name)) << name;
}

TEST(Crd, HasOneTwinForEachRuleAndOneRuleForEachTwin) {
  std::multiset<std::pair<std::string, std::string>> written;
  walk(open_api(kInferenceDeploymentsCrd), "", [&](const Json& node, const std::string& path) {
    for (const Json& rule : node.value("x-kubernetes-validations", Json::array()))
      written.emplace(path, rule.at("message"));
  });
  std::multiset<std::pair<std::string, std::string>> twins;
  for (const Rule& rule : rules()) twins.emplace(rule.scope, rule.message);
  EXPECT_EQ(written, twins);
}

// Pattern reads ECMAScript, the API server RE2: only what both read alike may stand in a CRD.
TEST(Crd, UsesOnlyPatternsThatBothEnginesReadAlike) {
  walk_both([](const Json& node, const std::string& path) {
    if (!node.contains("pattern")) return;
    const auto pattern = node.at("pattern").get<std::string>();
    EXPECT_TRUE(pattern.starts_with('^') && pattern.ends_with('$')) << path;
    EXPECT_EQ(pattern.find('\\'), std::string::npos) << path << ": classes such as \\w differ; write [.] for a dot";
    for (const char* special : {"(?", "*?", "+?", "??", "}?", "[:", "|)", "(|"})
      EXPECT_EQ(pattern.find(special), std::string::npos) << path;
    for (const char c : pattern) EXPECT_TRUE(c >= ' ' && c <= '~') << path;
  });
}

template <typename Enum>
void expect_enum(const char* pointer) {
  const Json spec = open_api(kInferenceDeploymentsCrd).at("properties").at("spec").at("properties");
  std::vector<std::string> names;
  for (const auto& [value, name] : wire_names(Enum{})) {
    names.emplace_back(name);
    EXPECT_EQ(to_string(value), name);
  }
  EXPECT_EQ(spec.at(Json::json_pointer(pointer)).get<std::vector<std::string>>(), names) << pointer;
}

TEST(Crd, EnumeratesWhatTheTypesEnumerate) {
  expect_enum<ProfilePolicy>("/profilePolicy/enum");
  expect_enum<AcceleratorMode>("/accelerator/properties/mode/enum");
  expect_enum<Sharing>("/accelerator/properties/sharing/enum");
  expect_enum<CacheMode>("/cache/properties/mode/enum");
  expect_enum<Gang>("/scheduling/properties/gang/enum");
  expect_enum<TopologyCheck>("/topologyCheck/enum");
}

TEST(Schema, RefusesAKeywordThatItWouldNotCheck) {
  EXPECT_THROW(static_cast<void>(compile_schema(Json::parse(R"({"type": "object", "oneOf": []})"), "spec")),
               std::logic_error);
  EXPECT_THROW(static_cast<void>(compile_schema(Json::parse(R"({"type": "number"})"), "spec")), std::logic_error);
  EXPECT_THROW(
      static_cast<void>(compile_schema(
          Json::parse(R"({"type": "object", "x-kubernetes-validations": [{"rule": "true", "message": "no twin"}]})"),
          "spec")),
      std::logic_error);
}

}  // namespace
}  // namespace inference::crd
