#include "render/explanations.h"

#include <gtest/gtest.h>

#include "render/object_path.h"

namespace inference::render {
namespace {

const Json kObject = Json::parse(R"({
  "kind": "Deployment",
  "metadata": {"name": "x", "labels": {"app.kubernetes.io/name": "y"}},
  "spec": {"containers": [{"name": "engine", "env": [{"name": "A", "value": "1"}], "volumeMounts": [{"mountPath": "/models"}]},
                          {"name": "side"}],
           "args": ["a", "b"], "tolerations": [{"key": "k"}, {"key": "k"}]}})");

Explanations recorded() {
  Explanations explanations;
  std::vector<Explanation> leaves;
  for (const char* pointer : {"/spec/containers/0/name", "/spec/containers/1/name", "/spec/args/0"}) {
    leaves.push_back(
        {.pointer = pointer,
         .path = {},
         .value = {},
         .origin = {.place = "templates/t.yaml:1", .why = {.text = "x", .ref = {}, .line = 1, .own = true}},
         .reason = std::nullopt});
  }
  explanations.add(kObject, std::move(leaves));
  return explanations;
}

std::vector<std::string> paths_under(const Explanations& explanations, std::string_view path) {
  std::vector<std::string> paths;
  for (const Explanation& leaf : explanations.objects().front().leaves) {
    if (is_under(leaf, path)) paths.push_back(leaf.path);
  }
  return paths;
}

TEST(ObjectPath, TellsItemsByWhatIdentifiesThem) {
  EXPECT_EQ(object_path(kObject, "/spec/containers/0/env/0/value"), "spec.containers[name=engine].env[name=A].value");
  EXPECT_EQ(object_path(kObject, "/spec/containers/0/volumeMounts/0/mountPath"),
            "spec.containers[name=engine].volumeMounts[mountPath=/models].mountPath");
  EXPECT_EQ(object_path(kObject, "/spec/args/1"), "spec.args[1]");
  EXPECT_EQ(object_path(kObject, "/spec/tolerations/1/key"), "spec.tolerations[1].key")
      << "two items have the same key";
  EXPECT_EQ(object_path(kObject, "/metadata/labels/app.kubernetes.io~1name"),
            "metadata.labels['app.kubernetes.io/name']");
}

TEST(ObjectPath, LiesInTheOneAboveIt) {
  EXPECT_EQ(path_above("spec.containers[name=engine].env[name=A].value"), "spec.containers[name=engine].env[name=A]");
  EXPECT_EQ(path_above("spec.containers[mountPath=/a.b]"), "spec.containers");
  EXPECT_EQ(path_above("metadata.labels['app.kubernetes.io/name']"), "metadata.labels");
  EXPECT_EQ(path_above("spec"), "");
}

TEST(ObjectPath, SaysWhereATextIsNone) {
  struct Row {
    std::string text;
    std::size_t position;
    std::string message;
  };
  for (const Row& row : {Row{"spec[", 5, "this [ has no ]"},
                         Row{"spec.containers[name=engine].env[name=", 33, "this [ has no ]"},
                         Row{"spec['a]", 5, "this [ has no ']"},
                         Row{"spec[\"a']", 5, "this [ has no \"]"},
                         Row{"spec[a[0]", 5, "this [ has no ]"},
                         Row{"spec[?(@.name==\"a\"]", 5, "this [ has no )]"},
                         Row{"spec[?(@.port>1)]", 5, "the only filter"},
                         Row{"spec[?(name)]", 5, "the only filter"},
                         Row{"spec[]", 5, "nothing stands in these brackets"},
                         Row{"spec[=a]", 5, "name=http is expected"},
                         Row{"spec[name=]", 5, "name=http is expected"},
                         Row{"spec]", 5, "this ] has no ["},
                         Row{"spec.a]", 7, "this ] has no ["},
                         Row{"....", 2, "a name is missing"},
                         Row{"spec.", 6, "a name is missing"},
                         Row{"spec..replicas", 6, "a name is missing"},
                         Row{"spec[0]name", 8, "a dot is missing"},
                         Row{"spec\\", 5, "ends the path"},
                         Row{"{.spec", 1, "this { has no }"},
                         Row{"/spec/~2", 7, "~0"},
                         Row{"/spec/~", 7, "~0"}}) {
    const auto fault = path_fault(row.text);
    ASSERT_TRUE(fault.has_value()) << row.text;
    EXPECT_EQ(fault->position, row.position) << row.text << ": " << fault->message;
    EXPECT_NE(fault->message.find(row.message), std::string::npos) << row.text << ": " << fault->message;
  }
  for (const char* text : {"", ".", "$", "{}", "{.}", "spec", ".spec.a", "$.spec", "$['spec']", "spec['a.b/c'].d",
                           "a[0][1]", "a[*].b", "a[\"x]y\"]", "a[?(@.name == 'x')]", "a\\.b", "/", "/a~1b/~0"}) {
    EXPECT_FALSE(path_fault(text).has_value()) << text << ": " << path_fault(text)->message;
  }
}

// Found by object_path_fuzz.
TEST(ObjectPath, HasNothingUnderAPointerThatIsNone) {
  EXPECT_TRUE(path_is_under("['a~']", "/a~0", "/a~0"));
  EXPECT_FALSE(path_is_under("['a~']", "/a~0", "/a~"));
}

TEST(Explanations, AreFoundByAnyWayToWriteAPath) {
  const Explanations explanations = recorded();
  for (const char* path :
       {"spec.containers[name=side]", "spec.containers[1]", "{.spec.containers[1].name}", "$.spec.containers[1]",
        ".spec.containers[?(@.name==\"side\")]", "/spec/containers/1", "spec.containers[name=side].name"}) {
    EXPECT_EQ(paths_under(explanations, path), std::vector<std::string>{"spec.containers[name=side].name"}) << path;
  }
  EXPECT_EQ(paths_under(explanations, "spec.containers[*].name").size(), 2U);
  for (const char* path : {"metadata.labels['app.kubernetes.io/name']", "metadata.labels.app\\.kubernetes\\.io/name"}) {
    EXPECT_EQ(paths_under(explanations, path), std::vector<std::string>{"metadata.labels['app.kubernetes.io/name']"})
        << path;
  }
  EXPECT_EQ(paths_under(explanations, "spec.contain"), std::vector<std::string>{}) << "half a word is no prefix";
  EXPECT_EQ(paths_under(explanations, "/spec/containers/10"), std::vector<std::string>{});
  EXPECT_EQ(paths_under(explanations, "spec.args["), std::vector<std::string>{}) << "what is no path finds nothing";
  EXPECT_EQ(paths_under(explanations, "").size(), 12U);
}

TEST(Explanations, FollowALaterRevision) {
  Explanations explanations = recorded();
  Json revised = kObject;
  revised["spec"]["containers"].erase(0);
  revised["spec"]["containers"][0]["image"] = "i";
  revised["spec"]["args"][0] = "c";
  explanations.revise_last(revised,
                           {.rule = "pod_template", .text = "merged", .inputs = {"spec.podTemplate"}, .source = {}});
  const std::string text = to_text(explanations, "spec");
  EXPECT_NE(text.find("  spec.containers[name=side].name: \"side\"  ← templates/t.yaml:1 (why: x)\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("  spec.containers[name=side].image: \"i\"  ← pod_template: merged (spec.podTemplate)\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("  spec.args[0]: \"c\"  ← pod_template: merged (spec.podTemplate)\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("engine"), std::string::npos) << text;
}

TEST(Explanations, CutLongStringsBetweenCharacters) {
  Explanations explanations;
  std::string script(99, 'x');
  script += "é and more";
  explanations.add({{"script", script}}, {});
  EXPECT_EQ(to_text(explanations), "\n  script: \"" + std::string(99, 'x') + "\"… (110 bytes)\n");
}

TEST(Explanations, AreAlsoJson) {
  Explanations explanations;
  explanations.add(
      {{"kind", "K"}, {"metadata", {{"name", "n"}, {"namespace", "ns"}}}},
      {{.pointer = "/kind",
        .path = {},
        .value = {},
        .origin = {.place = "templates/t.yaml:2", .why = {.text = "w", .ref = "r", .line = 1, .own = false}},
        .reason = Reason{.rule = "rule", .text = "t", .inputs = {"spec.a"}, .source = "templates/e.yaml:3"}}});
  EXPECT_EQ(to_json(explanations, "kind"), Json::parse(R"([{"object": "K ns/n", "leaves": [{
    "path": "kind", "pointer": "/kind", "value": "K",
    "origin": {"place": "templates/t.yaml:2", "why": "w", "ref": "r", "inheritedFrom": 1},
    "reason": {"rule": "rule", "text": "t", "inputs": ["spec.a"], "source": "templates/e.yaml:3"}}]}])"));
  EXPECT_EQ(to_json(explanations, "spec"), Json::array());
}

}  // namespace
}  // namespace inference::render
