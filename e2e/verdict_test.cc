// The API server's own verdict on every row of crd/verdict_cases.yaml, which the C++ decoder judges in
// crd/decode_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "base/source_path.h"
#include "crd/quantity.h"
#include "crd/verdict_cases.h"
#include "e2e/real_cluster.h"

namespace inference::e2e {
namespace {

std::expected<Json, client::ApiError> judge(const Json& object) {
  const client::Resource& resource = object.at("kind") == "InferenceProfile" ? client::resources::kInferenceProfile
                                                                             : client::resources::kInferenceDeployment;
  return RealCluster::instance().api().create(
      resource, object, {.dry_run = client::DryRun::kAll, .field_validation = client::FieldValidation::kStrict}, {});
}

// Each path that the refusal names: causes of a 422, fields in the text of a 400 (strict decoding has no causes).
std::vector<std::string> named_paths(const client::ApiError& error) {
  std::vector<std::string> paths;
  for (const Json& cause : error.details.is_object() ? error.details.value("causes", Json::array()) : Json::array()) {
    const std::string path = cause.value("field", "");
    // "<nil>" says that rules were not looked at since the schema is broken, ".spec.replicas" that the scale
    // subresource could not be filled: both come beside the fault itself.
    if (!path.empty() && path != "<nil>" && !path.starts_with('.')) paths.push_back(path);
  }
  static const std::regex unknown_field("unknown field \"([^\"]+)\"");
  for (auto match = std::sregex_iterator(error.message.begin(), error.message.end(), unknown_field);
       match != std::sregex_iterator(); ++match) {
    paths.push_back((*match)[1]);
  }
  return paths;
}

TEST(Verdict, OfTheRealApiServerIsThatOfTheDecoder) {
  std::size_t bad = 0;
  std::size_t placed = 0;
  for (const crd::VerdictCase& each : crd::read_verdict_cases(source_path("crd/verdict_cases.yaml"))) {
    const auto answer = judge(each.object);
    if (each.at.empty()) {
      EXPECT_TRUE(answer.has_value()) << each.name << ": " << answer.error().to_string();
      continue;
    }
    ++bad;
    ASSERT_FALSE(answer.has_value()) << each.name << ": the API server accepts it";
    ASSERT_EQ(answer.error().kind, client::ApiError::Kind::kStatus) << each.name << ": " << answer.error().to_string();
    const std::vector<std::string> paths = named_paths(answer.error());
    if (!paths.empty()) ++placed;
    for (const std::string& path : paths) {
      EXPECT_TRUE(std::ranges::find(each.at, path) != each.at.end())
          << each.name << ": the API server blames " << path << ": " << answer.error().message;
    }
  }
  EXPECT_GE(bad, 45U);
  EXPECT_GE(placed, bad * 9 / 10) << "most refusals should name a path that could be compared";
}

// What the API server stores for a quantity is its canonical form: that of crd::Quantity. (A pod's are rounded to
// thousandths.)
TEST(Verdict, OnQuantitiesIsThatOfQuantity) {
  Json pod = Json::parse(R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "q", "namespace": "default"},
                             "spec": {"containers": [{"name": "c", "image": "i", "resources": {"limits": {}}}]}})");
  Json& limits = pod["spec"]["containers"][0]["resources"]["limits"];
  for (const char* text : {"0",    "0Gi",    "1",   "1024Mi", "1024Ki", "1000Mi", "512Gi", "1536Mi", "1.5Gi", "0.5Gi",
                           ".5Gi", "0.5",    "0.1", "1500m",  "2000m",  "1000k",  "1e3",   "12e6",   "1e4",   "1000e3",
                           "1e-3", "1023Ki", "1Ki", "1.1Ki",  "100Ei",  "8E",     "64G",   "1Ti"}) {
    limits = {{"memory", text}};
    const auto answer =
        RealCluster::instance().api().create(client::resources::kPod, pod, {.dry_run = client::DryRun::kAll}, {});
    ASSERT_TRUE(answer.has_value()) << text << ": " << answer.error().to_string();
    EXPECT_EQ(crd::Quantity::parse(text).value().to_string(),
              answer->at("/spec/containers/0/resources/limits/memory"_json_pointer).get<std::string>())
        << text;
  }
}

}  // namespace
}  // namespace inference::e2e
