#include "render/fill.h"

#include <gtest/gtest.h>

namespace inference::render {

struct ContainerValues {
  Traced<std::string> image;
  std::vector<Traced<std::string>> args;
};
template <>
inline constexpr auto kHolesOf<ContainerValues> = std::tuple{
    Hole{"image", &ContainerValues::image},
    Hole{"args", &ContainerValues::args},
};

struct SetValues {
  Traced<std::int64_t> replicas;
  std::optional<Traced<std::string>> queue;
  Traced<std::vector<std::string>> words;
  HoleValue resources;
  SubTemplate<ContainerValues> leader;
  std::optional<SubTemplate<ContainerValues>> worker;
};
template <>
inline constexpr auto kHolesOf<SetValues> = std::tuple{
    Hole{"replicas", &SetValues::replicas},   Hole{"queue", &SetValues::queue},   Hole{"words", &SetValues::words},
    Hole{"resources", &SetValues::resources}, Hole{"leader", &SetValues::leader}, Hole{"worker", &SetValues::worker},
};

namespace {

ContainerValues container(std::string image) {
  return {.image = {std::move(image), {.rule = "image", .text = "asked for"}},
          .args = {{"--port", {.rule = "args", .text = "first"}}, {"8000", {.rule = "args", .text = "second"}}}};
}

SetValues values() {
  return {.replicas = {6, {.rule = "replicas", .text = "6 requested", .inputs = {"spec.replicas"}}},
          .queue = std::nullopt,
          .words = {{"x", "y"}, {.rule = "words", .text = "two"}},
          .resources = {.value = {{"cpu", "64"}, {"nested", {{"memory", "512Gi"}}}},
                        .reason = {.rule = "resources", .text = "whole"},
                        .parts = {{"/nested", {.rule = "nested", .text = "part"}},
                                  {"/nes", {.rule = "wrong", .text = "no prefix"}}}},
          .leader = {"container.yaml", container("leader:1")},
          .worker = std::nullopt};
}

TemplateSet load(const std::map<std::string, std::string>& files) {
  auto set = TemplateSet::load(files);
  if (!set) throw std::logic_error(to_string(set.error().front()));
  return *std::move(set);
}

Json filled(const std::string& text, const SetValues& values, const std::map<std::string, std::string>& others = {}) {
  std::map<std::string, std::string> files = others;
  files["t.yaml"] = text;
  const TemplateSet set = load(files);
  Explanations explanations;
  const auto plain = fill(set, "t.yaml", holes_of(values));
  const auto explained = fill(set, "t.yaml", holes_of(values), &explanations);
  if (!plain || !explained) throw std::logic_error(plain.error());
  EXPECT_EQ(*plain, *explained);
  return *plain;
}

const std::string kContainer =
    "name: engine\n"
    "image: !value image  # why: x\n"
    "args: !value args    # why: x\n";
const std::map<std::string, std::string> kFiles = {
    {"container.yaml", "# why: x\n" + kContainer.substr(0, 13) + kContainer.substr(13)}};

TEST(Fill, PutsValuesIntoHoles) {
  EXPECT_EQ(
      filled("kind: Set                   # why: x\n"
             "replicas: !value replicas   # why: x\n"
             "words: !value words         # why: x\n"
             "resources: !value resources # why: x\n",
             values()),
      Json::parse(
          R"({"kind": "Set", "replicas": 6, "words": ["x", "y"], "resources": {"cpu": "64", "nested": {"memory": "512Gi"}}})"));
}

TEST(Fill, DropsWhatIsAbsent) {
  const std::string text =
      "queue: !optional queue      # why: x\n"
      "map:                        # why: x\n"
      "  queue: !optional queue    # why: x\n"
      "list: [!optional queue, a]  # why: x\n"
      "empty: [!optional queue]    # why: x\n";
  SetValues given = values();
  EXPECT_EQ(filled(text, given), Json::parse(R"({"map": {}, "list": ["a"], "empty": []})"));
  given.queue = {"q", {.rule = "queue", .text = "asked for"}};
  EXPECT_EQ(filled(text, given),
            Json::parse(R"({"queue": "q", "map": {"queue": "q"}, "list": ["q", "a"], "empty": ["q"]})"));
}

TEST(Fill, SplicesListsIntoLists) {
  EXPECT_EQ(filled("- a              # why: x\n"
                   "- !splice words  # why: x\n"
                   "- b              # why: x\n",
                   values()),
            Json::parse(R"(["a", "x", "y", "b"])"));
}

TEST(Fill, LetsIncludedFilesShareTheHoles) {
  EXPECT_EQ(filled("a: !include u.yaml  # why: x\n", values(), {{"u.yaml", "b: !value replicas  # why: x\n"}}),
            Json::parse(R"({"a": {"b": 6}})"));
}

TEST(Fill, FillsASubTemplateWithItsOwnValues) {
  SetValues given = values();
  given.worker = SubTemplate<ContainerValues>{"container.yaml", container("worker:1")};
  EXPECT_EQ(filled("leader: !value leader    # why: x\n"
                   "worker: !optional worker # why: x\n",
                   given, kFiles),
            Json::parse(R"({"leader": {"name": "engine", "image": "leader:1", "args": ["--port", "8000"]},
                            "worker": {"name": "engine", "image": "worker:1", "args": ["--port", "8000"]}})"));
}

TEST(Fill, NeverReadsValuesAsYaml) {
  SetValues given = values();
  given.queue = {"x\n- !value replicas # {}: &a *a", {.rule = "queue", .text = "hostile"}};
  EXPECT_EQ(filled("queue: !optional queue  # why: x\n", given)["queue"], given.queue->value);
}

TEST(Fill, TellsOfHolesThatTheValuesLack) {
  const TemplateSet set = load({{"t.yaml", "a: !value other  # why: x\n"},
                                {"u.yaml", "- !splice replicas  # why: x\n"},
                                {"v.yaml", "a: !value queue  # why: x\n"},
                                {"w.yaml", "a: !value leader  # why: x\n"}});
  const SetValues given = values();
  const auto error = [&](const char* file) { return fill(set, file, holes_of(given)).error(); };
  EXPECT_EQ(error("t.yaml"), "templates/t.yaml: hole other at line 1 is not offered");
  EXPECT_EQ(error("u.yaml"), "templates/u.yaml: hole replicas at line 1 is no list");
  EXPECT_EQ(error("v.yaml"), "templates/v.yaml: hole queue at line 1 is absent");
  EXPECT_EQ(error("w.yaml"),
            "templates/w.yaml: hole leader at line 1 is filled by container.yaml, which does not exist");
  EXPECT_EQ(error("x.yaml"), "there is no template x.yaml");
}

TEST(Fill, ExplainsEveryLeaf) {
  const TemplateSet set =
      load({{"t.yaml",
             "kind: Set                    # why: a set\n"
             "metadata:                    # why: named\n"
             "  name: x\n"
             "  namespace: ns\n"
             "spec:                        # why[KEP-1]: all of it\n"
             "  replicas: !value replicas  # why: how many\n"
             "  none: {}\n"
             "  resources: !value resources # why: its share\n"
             "  containers:\n"
             "  - !value leader            # why: the leader\n"
             "  - !include u.yaml\n"},
            {"container.yaml", "# why: one name\n" + kContainer},
            {"u.yaml", "name: side  # why: beside it\nargs: [a, !splice words, b]  # why: some\n"}});
  const SetValues given = values();
  Explanations explanations;
  const auto object = fill(set, "t.yaml", holes_of(given), &explanations);
  ASSERT_TRUE(object) << object.error();
  EXPECT_EQ(
      to_text(explanations),
      "Set ns/x\n"
      "  kind: \"Set\"  ← templates/t.yaml:1 (why: a set)\n"
      "  metadata.name: \"x\"  ← templates/t.yaml:3 (why, from line 2: named)\n"
      "  metadata.namespace: \"ns\"  ← templates/t.yaml:4 (why, from line 2: named)\n"
      "  spec.containers[name=engine].args[0]: \"--port\"  ← templates/container.yaml:4 (why: x)  ← args: first\n"
      "  spec.containers[name=engine].args[1]: \"8000\"  ← templates/container.yaml:4 (why: x)  ← args: second\n"
      "  spec.containers[name=engine].image: \"leader:1\"  ← templates/container.yaml:3 (why: x)  ← image: asked for\n"
      "  spec.containers[name=engine].name: \"engine\"  ← templates/container.yaml:2 (why: one name)\n"
      "  spec.containers[name=side].args[0]: \"a\"  ← templates/u.yaml:2 (why: some)\n"
      "  spec.containers[name=side].args[1]: \"x\"  ← templates/u.yaml:2 (why: some)  ← words: two\n"
      "  spec.containers[name=side].args[2]: \"y\"  ← templates/u.yaml:2 (why: some)  ← words: two\n"
      "  spec.containers[name=side].args[3]: \"b\"  ← templates/u.yaml:2 (why: some)\n"
      "  spec.containers[name=side].name: \"side\"  ← templates/u.yaml:1 (why: beside it)\n"
      "  spec.none: {}  ← templates/t.yaml:7 (why[KEP-1], from line 5: all of it)\n"
      "  spec.replicas: 6  ← templates/t.yaml:6 (why: how many)  ← replicas: 6 requested (spec.replicas)\n"
      "  spec.resources.cpu: \"64\"  ← templates/t.yaml:8 (why: its share)  ← resources: whole\n"
      "  spec.resources.nested.memory: \"512Gi\"  ← templates/t.yaml:8 (why: its share)  ← nested: part\n");
}

}  // namespace
}  // namespace inference::render
