// Renders every folder of render/golden and compares it with what is recorded there. UPDATE_GOLDEN=1 rewrites the
// records; review the diff.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "base/source_path.h"
#include "base/yaml_reader.h"
#include "base/yaml_writer.h"
#include "crd/decode.h"
#include "render/cluster_facts.h"
#include "render/explanations.h"
#include "render/fixtures.h"
#include "render/render.h"
#include "render/template_set.h"

namespace inference::render {
namespace {

namespace fs = std::filesystem;

fs::path golden_folder() {
  return source_path("render/golden");
}

std::vector<std::string> cases() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(golden_folder())) {
    if (entry.is_directory()) names.push_back(entry.path().filename());
  }
  std::ranges::sort(names);
  return names;
}

struct Case {
  crd::InferenceDeployment deployment;
  std::optional<crd::InferenceProfile> profile;
  ClusterFacts cluster;
};

/// The first line of an input says what the cluster serves: `# cluster: lws native volcano`.
Case load_case(const std::string& name) {
  const std::string text = read_file(golden_folder() / name / "input.yaml");
  const std::string first = text.substr(0, text.find('\n'));
  Case loaded;
  std::istringstream words(first.substr(first.find(':') + 1));
  loaded.cluster = cluster_facts({std::istream_iterator<std::string>(words), {}});
  const auto documents = read_yaml_documents(text);
  EXPECT_TRUE(documents.has_value()) << name;
  for (const auto& document : documents.value()) {
    if (document.value["kind"] == crd::kInferenceProfileKind) {
      auto profile = crd::decode_inference_profile(document.value);
      EXPECT_TRUE(profile.has_value()) << name << ": " << to_string(profile.error().front());
      if (profile) loaded.profile = *std::move(profile);
    } else {
      auto deployment = crd::decode_inference_deployment(document.value);
      EXPECT_TRUE(deployment.has_value()) << name << ": " << to_string(deployment.error().front());
      if (deployment) loaded.deployment = *std::move(deployment);
    }
  }
  return loaded;
}

std::expected<Rendered, Refusal> render_case(const Case& loaded, Explanations* explain = nullptr) {
  return render({.deployment = loaded.deployment,
                 .profile = loaded.profile ? &*loaded.profile : nullptr,
                 .cluster = loaded.cluster,
                 .recorded_gang = std::nullopt},
                TemplateSet::embedded(), explain);
}

std::string manifest(const Rendered& rendered) {
  std::string text;
  for (Json object : rendered.objects) {
    // It changes with every template, and would hide what really changed.
    object["metadata"]["annotations"].erase("inference-operator.dev/templates");
    if (object["metadata"]["annotations"].empty()) object["metadata"].erase("annotations");
    if (!text.empty()) text += "---\n";
    text += write_yaml(object);
  }
  return text;
}

std::string account(const Rendered& rendered, const Explanations& explanations) {
  std::string text = to_text(explanations) + "\nnotices\n";
  for (const Notice& notice : rendered.notices)
    text += "  " + notice.reason + " " + notice.path + ": " + notice.message + "\n";
  text += "\nselector " + rendered.selector + "\n\nresolved\n" + write_yaml(rendered.resolved);
  const std::string digest(TemplateSet::embedded().digest());
  for (std::size_t at = 0; (at = text.find(digest, at)) != std::string::npos;)
    text.replace(at, digest.size(), "sha256:(digest)");
  return text;
}

void compare(const fs::path& path, const std::string& text) {
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  EXPECT_EQ(read_file(path), text) << path << ": UPDATE_GOLDEN=1 accepts the change";
}

class Golden : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Cases, Golden, testing::ValuesIn(cases()), [](const auto& info) {
  std::string name = info.param;
  std::ranges::replace(name, '-', '_');
  return name;
});

TEST_P(Golden, RendersWhatIsRecorded) {
  const Case loaded = load_case(GetParam());
  Explanations explanations;
  const auto rendered = render_case(loaded, &explanations);
  ASSERT_TRUE(rendered.has_value()) << rendered.error().reason << ": " << to_string(rendered.error().errors.front());
  compare(golden_folder() / GetParam() / "rendered.yaml", manifest(*rendered));
  compare(golden_folder() / GetParam() / "explain.txt", account(*rendered, explanations));
}

TEST_P(Golden, RendersTheSameBytesAgainAndWithoutExplanations) {
  const Case loaded = load_case(GetParam());
  Explanations explanations;
  const auto first = render_case(loaded, &explanations);
  const auto second = render_case(loaded);
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_EQ(manifest(*first), manifest(*second));
  EXPECT_EQ(first->notices, second->notices);
}

TEST_P(Golden, ExplainsEveryLeafByALineOrAPodTemplate) {
  const Case loaded = load_case(GetParam());
  Explanations explanations;
  const auto rendered = render_case(loaded, &explanations);
  ASSERT_TRUE(rendered.has_value());
  ASSERT_EQ(explanations.objects().size(), rendered->objects.size());
  for (std::size_t i = 0; i < rendered->objects.size(); ++i) {
    const auto& leaves = explanations.objects()[i].leaves;
    EXPECT_EQ(leaves.size(), rendered->objects[i].flatten().size()) << explanations.objects()[i].title;
    for (const Explanation& leaf : leaves) {
      EXPECT_EQ(rendered->objects[i].at(Json::json_pointer(leaf.pointer)), leaf.value) << leaf.path;
      const bool from_template = !leaf.origin.place.empty() && !leaf.origin.why.text.empty();
      const bool from_user = leaf.reason && leaf.reason->rule == "pod_template";
      EXPECT_TRUE(from_template || from_user) << leaf.path;
    }
  }
}

TEST_P(Golden, LetsNothingOfTheParentsMetadataThrough) {
  Case loaded = load_case(GetParam());
  const auto plain = render_case(loaded);
  ASSERT_TRUE(plain.has_value());
  // What Argo CD, Helm and kubectl leave on a parent. The decoder drops it; a child that carries it would be pruned.
  Json parent = {
      {"apiVersion", crd::kApiVersion},
      {"kind", crd::kInferenceDeploymentKind},
      {"metadata",
       {{"name", loaded.deployment.metadata.name},
        {"namespace", loaded.deployment.metadata.ns},
        {"labels", {{"app.kubernetes.io/instance", "app-x"}, {"argocd.argoproj.io/instance", "app-x"}, {"team", "a"}}},
        {"annotations",
         {{"argocd.argoproj.io/tracking-id", "app-x"},
          {"argocd.argoproj.io/sync-wave", "3"},
          {"helm.sh/hook", "pre-install"},
          {"kubectl.kubernetes.io/last-applied-configuration", "{}"},
          {"kustomize.toolkit.fluxcd.io/name", "x"}}}}},
      {"spec", loaded.deployment.spec_json}};
  if (loaded.deployment.metadata.ns.empty()) parent["metadata"].erase("namespace");
  auto decoded = crd::decode_inference_deployment(parent);
  ASSERT_TRUE(decoded.has_value()) << to_string(decoded.error().front());
  loaded.deployment = *std::move(decoded);
  const auto labelled = render_case(loaded);
  ASSERT_TRUE(labelled.has_value());
  EXPECT_EQ(plain->objects, labelled->objects);
}

TEST_P(Golden, KeepsTheDigestOfTheTemplatesOutOfPods) {
  const auto rendered = render_case(load_case(GetParam()));
  ASSERT_TRUE(rendered.has_value());
  for (const Json& object : rendered->objects) {
    EXPECT_EQ(object["metadata"]["annotations"]["inference-operator.dev/templates"], TemplateSet::embedded().digest());
    EXPECT_EQ(object.value("spec", Json()).dump().find("sha256:"), std::string::npos) << object["kind"];
  }
}

}  // namespace
}  // namespace inference::render
