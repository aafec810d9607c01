#include "render/render.h"

#include <gtest/gtest.h>

#include <sstream>

#include "base/yaml_reader.h"
#include "crd/decode.h"
#include "crd/quantity.h"
#include "render/knowledge.h"
#include "render/template_set.h"
#include "render/values.h"

namespace inference::render {
namespace {

std::expected<Rendered, Refusal> render_spec(Json spec, ClusterFacts cluster = {.leader_worker_set = true},
                                             const std::string& name = "m",
                                             const TemplateSet& templates = TemplateSet::embedded()) {
  if (!spec.contains("model")) spec["model"] = {{"uri", "file:///var/models/m"}};
  const Json object = {{"apiVersion", crd::kApiVersion},
                       {"kind", crd::kInferenceDeploymentKind},
                       {"metadata", {{"name", name}, {"namespace", "ns"}}},
                       {"spec", spec}};
  const auto deployment = crd::decode_inference_deployment(object);
  EXPECT_TRUE(deployment.has_value()) << to_string(deployment.error().front());
  return render({.deployment = *deployment, .profile = nullptr, .cluster = cluster, .recorded_gang = std::nullopt},
                templates);
}

std::vector<std::string> kinds(const Rendered& rendered) {
  std::vector<std::string> kinds;
  for (const Json& object : rendered.objects) kinds.push_back(object["kind"]);
  return kinds;
}

TEST(Templates, PassTheirLintAndUseEveryHole) {
  const auto set = TemplateSet::load(embedded_template_files(), template_schemas());
  if (set) return;
  for (const TemplateFault& fault : set.error()) ADD_FAILURE() << to_string(fault);
}

TEST(Templates, HoldQuantitiesWhereRulesTakeThem) {
  const RuleConstants& rules = Knowledge::embedded().rules;
  for (const auto* fact : {&rules.memory_per_gpu, &rules.shared_memory_per_gpu, &rules.shared_memory_minimum}) {
    EXPECT_TRUE(crd::Quantity::parse(fact->value).has_value()) << fact->source;
  }
}

TEST(Templates, ExplainEveryRowOfEveryEngine) {
  for (const auto& [name, engine] : Knowledge::embedded().engines) {
    for (const ArgumentRow& row : engine.arguments) EXPECT_FALSE(row.why.empty()) << row.source;
    for (const EnvironmentRow& row : engine.environment) EXPECT_FALSE(row.why.empty()) << row.source;
    EXPECT_FALSE(engine.multi_node.value.empty()) << name;
  }
}

TEST(Render, AppliesWhatPodsMountFirst) {
  const auto single = render_spec({{"replicas", 2}});
  ASSERT_TRUE(single.has_value());
  EXPECT_EQ(kinds(*single), (std::vector<std::string>{"ConfigMap", "Deployment", "Service", "PodDisruptionBudget"}));
  EXPECT_EQ(single->selector, "inference-operator.dev/name=m,app.kubernetes.io/component=server");
  const auto group = render_spec({{"replicas", 2}, {"nodes", 2}}, {.leader_worker_set = true, .native_gang = true});
  ASSERT_TRUE(group.has_value());
  EXPECT_EQ(kinds(*group), (std::vector<std::string>{"ConfigMap", "PodGroup", "PodGroup", "LeaderWorkerSet", "Service",
                                                     "PodDisruptionBudget"}));
  EXPECT_EQ(group->selector, "inference-operator.dev/name=m,leaderworkerset.sigs.k8s.io/worker-index=0");
  EXPECT_EQ(group->resolved["gang"], "Native");
}

TEST(Render, PutsTheSelectorsLabelsOnThePods) {
  const auto rendered = render_spec({});
  ASSERT_TRUE(rendered.has_value());
  const Json& deployment = rendered->objects[1];
  const Json labels = deployment["spec"]["template"]["metadata"]["labels"];
  for (const auto& [key, value] : deployment["spec"]["selector"]["matchLabels"].items()) EXPECT_EQ(labels[key], value);
  for (const auto& [key, value] : rendered->objects[2]["spec"]["selector"].items()) EXPECT_EQ(labels[key], value);
}

TEST(Render, ChangesNoSelectorWhateverTheSpecSays) {
  const auto plain = render_spec({});
  const auto rich = render_spec({{"replicas", 4},
                                 {"model", {{"uri", "file:///var/models/other"}, {"servedName", "x"}}},
                                 {"engine", {{"name", "sglang"}}},
                                 {"accelerator", {{"product", "H100"}}}});
  ASSERT_TRUE(plain.has_value() && rich.has_value());
  EXPECT_EQ(plain->objects[1]["spec"]["selector"], rich->objects[1]["spec"]["selector"]);
}

TEST(Render, ReportsEveryFaultAtOnce) {
  const auto refused =
      render_spec({{"model", {{"uri", "hf://org/model"}}}, {"gateway", {{"endpointPicker", "epp"}}}, {"nodes", 2}}, {},
                  std::string(46, 'a'));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().reason, "NotSupported");
  std::vector<std::string> paths;
  for (const auto& error : refused.error().errors) paths.push_back(error.path);
  EXPECT_EQ(paths, (std::vector<std::string>{"spec.gateway", "spec.model.uri", "spec.nodes"}));
}

TEST(Render, NeedsLeaderWorkerSetOnlyForGroups) {
  EXPECT_TRUE(render_spec({}, {}).has_value());
  const auto refused = render_spec({{"nodes", 2}}, {});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().reason, "ClusterLacksLeaderWorkerSet");
  EXPECT_TRUE(render_spec({{"nodes", 2}}, {.offline = true}).has_value());
}

TEST(Render, KeepsTheUsersValueOverOurs) {
  const auto rendered = render_spec({{"engine", {{"env", {{{"name", "TOKENIZERS_PARALLELISM"}, {"value", "true"}}}}}}});
  ASSERT_TRUE(rendered.has_value());
  std::size_t found = 0;
  for (const Json& variable : rendered->objects[1]["spec"]["template"]["spec"]["containers"][0]["env"]) {
    if (variable["name"] != "TOKENIZERS_PARALLELISM") continue;
    ++found;
    EXPECT_EQ(variable["value"], "true");
  }
  EXPECT_EQ(found, 1U);
}

TEST(Render, RefusesASidecarThatMakesThePodBurstable) {
  const Json sidecar = Json::array({{{"name", "exporter"}, {"image", "x"}}});
  for (const char* list : {"containers", "initContainers"}) {
    const auto refused = render_spec({{"podTemplate", {{"spec", {{list, sidecar}}}}}});
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().errors.front().path,
              std::string("spec.podTemplate.spec.") + list + "[name=exporter].resources");
  }
}

TEST(Render, RefusesAGlooInterfaceThatGlooRefuses) {
  const Json engine =
      Json::array({{{"name", "engine"}, {"env", {{{"name", "GLOO_SOCKET_IFNAME"}, {"value", "^lo"}}}}}});
  const auto refused = render_spec({{"podTemplate", {{"spec", {{"containers", engine}}}}}});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().reason, "InvalidSpec");
}

TEST(Render, TakesTemplatesFromAFolder) {
  auto files = embedded_template_files();
  std::string& deployment = files.at("deployment.yaml");
  const std::string from = "minReadySeconds: 10";
  deployment.replace(deployment.find(from), from.size(), "minReadySeconds: 25");
  const auto set = TemplateSet::load(files, template_schemas());
  ASSERT_TRUE(set.has_value());
  const auto rendered = render_spec({}, {}, "m", *set);
  ASSERT_TRUE(rendered.has_value());
  EXPECT_EQ(rendered->objects[1]["spec"]["minReadySeconds"], 25);
}

/// The faults of the embedded files after `from` in `file` was made `to`; empty when nothing is found wrong.
std::string faults_after(const std::string& file, const std::string& from, const std::string& to) {
  auto files = embedded_template_files();
  std::string& text = files.at(file);
  const std::size_t at = text.find(from);
  if (at == std::string::npos) return "there is no " + from + " in " + file;
  text.replace(at, from.size(), to);
  const auto set = TemplateSet::load(files, template_schemas());
  std::vector<TemplateFault> faults;
  if (set) {
    const auto knowledge = Knowledge::load(*set);
    if (!knowledge) faults = knowledge.error();
  } else {
    faults = set.error();
  }
  std::string lines;
  for (const TemplateFault& fault : faults) lines += to_string(fault) + "\n";
  return lines;
}

TEST(Templates, OfAFolderAreRefusedWithFileAndLine) {
  struct Row {
    std::string file, from, to, place, message;
  };
  for (const Row& row : {
           Row{"defaults.yaml", "cpuPerGpu: 8 ", "cpuPerGpu: eight ", "defaults.yaml:", "must be a whole number"},
           Row{"defaults.yaml", "cpuPerGpu: 8 ", "cpuPerGpu: 0 ", "defaults.yaml:", "must be at least 1"},
           Row{"defaults.yaml", "cpuPerGpu: 8 ", "cpuPerGqu: 8 ", "defaults.yaml:", "lacks cpuPerGpu"},
           Row{"defaults.yaml", "memoryPerGpu: 64Gi", "memoryPerGpu: 64GB", "defaults.yaml:", ""},
           Row{"defaults.yaml", "threadsPerCpu: 0.25", "threadsPerCpu: 0", "defaults.yaml:", "must be more than 0"},
           Row{"defaults.yaml", "  nodes: 1 ", "  nodez: 1 ",
               "defaults.yaml:4: ", "spec.nodez: unknown field; did you mean"},
           Row{"defaults.yaml", "  nodes: 1 ", "  nodes: 0 ", "defaults.yaml:4: ", "spec.nodes: must be at least 1"},
           Row{"defaults.yaml", "name: vllm ", "name: vlm ", "defaults.yaml:11: ", "did you mean vllm?"},
           Row{"defaults.yaml", "mode: None ", "mode: [] ", "defaults.yaml:", "spec.cache.mode: must be a string"},
           Row{"engines/vllm.yaml", "port: 8000 ", "prot: 8000 ", "engines/vllm.yaml: ", "lacks port"},
           Row{"engines/vllm.yaml", "multiNode: supported ", "multiNode: supported # why: x\nzzz: 3 ",
               "engines/vllm.yaml:", "unknown field zzz"},
           Row{"engines/vllm.yaml", "{flag: --model, from", "{flagg: --model, from",
               "engines/vllm.yaml:", "unknown field flagg"},
           Row{"engines/sglang.yaml", "name: sglang", "name: vllm",
               "engines/vllm.yaml:", "another file is engine vllm too"},
           Row{"service.yaml", "kind: Service ", "kind: Servce ", "service.yaml:3: ", "kind must be Service"},
           Row{"service.yaml", "kind: Service ", "kind: Pod ", "service.yaml:3: ", "kind must be Service"},
           Row{"service.yaml", "apiVersion: v1 ", "apiVersion: v2 ", "service.yaml:2: ", "apiVersion must be v1"},
           Row{"deployment.yaml", "kind: Deployment  ", "zzz: 3 # why: x\nkind: Deployment  ",
               "deployment.yaml:3: ", "unknown field zzz: a Deployment has apiVersion, kind, metadata and spec"},
           Row{"deployment.yaml", "spec:  ", "spce:  ", "deployment.yaml:", "did you mean spec?"},
           Row{"service.yaml", "metadata: !include object-metadata.yaml", "metadata: {labels: {a: b}}",
               "service.yaml:4: ", "metadata.name is missing"},
       }) {
    const std::string lines = faults_after(row.file, row.from, row.to);
    EXPECT_NE(lines.find("templates/" + row.place), std::string::npos) << row.to << ": " << lines;
    EXPECT_NE(lines.find(row.message), std::string::npos) << row.to << ": " << lines;
  }
}

// Whatever is left out of the defaults is told, or is nothing that a rendering needs.
TEST(Templates, OfAFolderMayLackNoDefaultThatRulesNeed) {
  const std::string defaults = embedded_template_files().at("defaults.yaml");
  std::istringstream lines(defaults);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(": ");
    if (!line.starts_with("  ") || colon == std::string::npos || line[colon + 2] == ' ') continue;
    const std::string told = faults_after("defaults.yaml", line + "\n", "\n");
    EXPECT_NE(told.find("templates/defaults.yaml:"), std::string::npos) << line << ": " << told;
    EXPECT_NE(told.find("lacks "), std::string::npos) << line << ": " << told;
  }
}

TEST(Templates, OfAFolderMayNotBeWithoutEngines) {
  auto files = embedded_template_files();
  std::erase_if(files, [](const auto& file) { return file.first.starts_with("engines/"); });
  const auto knowledge = Knowledge::load(TemplateSet::load(files, template_schemas()).value());
  ASSERT_FALSE(knowledge.has_value());
  EXPECT_EQ(to_string(knowledge.error().front()), "templates/engines: holds no engine");
}

TEST(Render, RefusesTemplatesThatPutThePodElsewhere) {
  auto files = embedded_template_files();
  std::string& deployment = files.at("deployment.yaml");
  const std::string from = "  template: !value pod ";
  deployment.replace(deployment.find(from), from.size(), "  tmplate: !value pod ");
  const auto set = TemplateSet::load(files, template_schemas());
  ASSERT_TRUE(set.has_value());
  const auto refused = render_spec({}, {}, "m", *set);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().reason, "InvalidTemplates");
  EXPECT_EQ(to_string(refused.error().errors.front()), "templates: a Deployment lacks /spec/template");
}

TEST(Render, LeavesUnknownFieldsOfPodsToTheApiServer) {
  const Json unknown = {{"podTemplate", {{"spec", {{"fieldOfTomorrow", 1}}}}}};
  const auto passed = render_spec(unknown);
  ASSERT_TRUE(passed.has_value());
  EXPECT_EQ(passed->objects[1]["spec"]["template"]["spec"]["fieldOfTomorrow"], 1);
  const auto refused = render_spec({{"podTemplate", {{"spec", {{"volumes", "foo"}}}}}});
  ASSERT_FALSE(refused.has_value()) << "a wrong type can't be right in any Kubernetes";
  EXPECT_EQ(refused.error().reason, "InvalidSpec");
  EXPECT_EQ(refused.error().errors.front().path, "spec.podTemplate.spec.volumes");
}

}  // namespace
}  // namespace inference::render
