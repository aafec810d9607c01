#include "render/render.h"

#include <utility>

#include "crd/decode.h"
#include "render/decide/accelerator.h"
#include "render/decide/claims.h"
#include "render/decide/drain.h"
#include "render/decide/engine.h"
#include "render/decide/environment.h"
#include "render/decide/gang.h"
#include "render/decide/kueue.h"
#include "render/decide/model.h"
#include "render/decide/names.h"
#include "render/decide/network.h"
#include "render/decide/pod_template.h"
#include "render/decide/probes.h"
#include "render/decide/resources.h"
#include "render/decide/rollout.h"
#include "render/decide/sizing.h"
#include "render/decide/support.h"
#include "render/decide/topology.h"
#include "render/decide/volcano.h"
#include "render/explanations.h"
#include "render/fill.h"
#include "render/findings.h"
#include "render/knowledge.h"
#include "render/labels.h"
#include "render/resolve.h"
#include "render/resolved.h"
#include "render/sha256.h"
#include "render/template_set.h"
#include "render/values.h"

namespace inference::render {

namespace {

Reason identity(std::string text) {
  return {.rule = "identity", .text = std::move(text), .inputs = {"metadata.name"}, .source = {}};
}

/// Turns decisions into objects: one function an object, all in the order in which they are applied.
class Renderer {
 public:
  Renderer(const Input& input, const TemplateSet& templates, const Knowledge& knowledge, Explanations* explain)
      : input_(input),
        templates_(templates),
        knowledge_(knowledge),
        explain_(explain),
        detail_(explain == nullptr ? Detail::kValuesOnly : Detail::kWithReasons),
        meta_(input.deployment.metadata) {}

  std::expected<Rendered, Refusal> run() {
    decide();
    if (!findings_.faults.empty()) return std::unexpected(findings_.to_refusal());
    // From here on every decision is made; only podTemplate can still be refused, since it is checked where it was
    // merged.
    add_claims();
    if (choices_.sizing.nodes.value == 1) {
      server_ = pod_values(PodRole::kServer);
    } else {
      server_ = pod_values(PodRole::kLeader);
      worker_ = pod_values(PodRole::kWorker);
    }
    if (!findings_.faults.empty()) return std::unexpected(findings_.to_refusal());
    add_drain_hook();
    add_pod_groups();
    add_workload();
    add_service();
    add_disruption_budget();
    if (!findings_.faults.empty()) return std::unexpected(findings_.to_refusal());
    rendered_.resolved = resolved_spec(choices_);
    rendered_.notices = std::move(findings_.notices);
    rendered_.replicas = choices_.sizing.replicas.value;
    rendered_.nodes = choices_.sizing.nodes.value;
    rendered_.selector =
        std::string(kNameLabel) + "=" + meta_.name + "," +
        (is_group() ? std::string(kLwsWorkerIndexLabel) + "=0" : std::string(kComponentLabel) + "=server");
    return std::move(rendered_);
  }

 private:
  [[nodiscard]] bool is_group() const { return choices_.sizing.nodes.value > 1; }

  void decide() {
    Choices& c = choices_;
    const RuleConstants& rules = knowledge_.rules;
    c.settings = resolve(input_.deployment.spec, input_.profile, knowledge_);
    const Settings& s = c.settings;
    check_support(s, findings_);
    for (const auto& patch : s.pod_templates) check_pod_template(patch, input_.unknown_pod_fields, findings_);
    c.sizing = decide_sizing(s, rules, findings_);
    c.names = decide_names(meta_.name, c.sizing.nodes.value, findings_);
    c.model = decide_model(s, findings_);
    c.accelerator = decide_accelerator(s, c.sizing, findings_);
    c.resources = decide_resources(s, c.sizing, c.accelerator, rules, findings_);
    c.engine = decide_engine(s, knowledge_, findings_);
    c.gang = decide_gang(s, input_.cluster, {input_.recorded_gang, input_.recorded_groups}, findings_);
    c.claims = decide_claims(s, c.sizing, c.accelerator, c.names, c.gang.gang.value, input_.cluster, rules, findings_);
    c.network = decide_network(s, c.sizing, findings_);
    topology_ = decide_topology(s, c.sizing, c.accelerator, c.resources, c.engine.image, findings_);
    check_drain(s, rules, findings_);
    if (c.sizing.nodes.value > 1 && !input_.cluster.leader_worker_set && !input_.cluster.offline) {
      findings_.refuse(
          "ClusterLacksLeaderWorkerSet", s.nodes.path,
          "more than one node needs LeaderWorkerSet (leaderworkerset.x-k8s.io/v1), which the cluster does not serve");
    }
    if (c.engine.facts == nullptr) return;
    c.drain = decide_drain(s, *c.engine.facts, PodRole::kServer, rules, detail_);
    c.probes = decide_probes(s, *c.engine.facts, rules);
    c.rollout = decide_rollout(s, c.sizing, c.drain.grace_period.value, rules, findings_);
    if (c.gang.kueue_queue) {
      check_queue_name(meta_.name, c.sizing, c.rollout.surge_replicas, findings_);
      if (input_.cluster.queue) tell_of_queue(s, *input_.cluster.queue, c.resources.list.value, findings_);
    }
    named_ = named_settings(s, meta_.name, *c.engine.facts, c.sizing, c.resources, c.model, rules);
  }

  PodValues pod_values(PodRole role) {
    const Choices& c = choices_;
    const EngineFacts& facts = *c.engine.facts;
    PodValues pod;
    pod.component = {.value = component_of(role), .reason = identity("what the pod does in its replica")};
    pod.name = {.value = meta_.name, .reason = identity("the owner's name")};
    pod.gang_label = c.gang.label;
    pod.scheduler_name = c.gang.scheduler_name;
    pod.scheduling_gates = c.gang.gates;
    if (c.settings.priority_class) {
      pod.priority_class = {.value = c.settings.priority_class->value,
                            .reason = c.settings.priority_class->reason("priority_class")};
    }
    pod.dns_policy = c.network.dns_policy;
    // The pod that serves has its drain decided already, since the rollout's deadline follows from it.
    DrainChoice drain = role == PodRole::kWorker ? decide_drain(c.settings, facts, role, knowledge_.rules, detail_)
                                                 : DrainChoice{.grace_period = c.drain.grace_period,
                                                               .environment = std::move(choices_.drain.environment)};
    pod.grace_period = std::move(drain.grace_period);
    add_placement(pod);
    add_init_containers(role, pod);
    pod.image = c.engine.image;
    if (facts.command)
      pod.command = {.value = facts.command->value,
                     .reason = facts.command->reason("engine_command", {c.settings.engine_name.path})};
    pod.args =
        engine_arguments(c.engine, role, named_, c.settings, role == PodRole::kWorker ? unheard_ : findings_, detail_);
    if (role != PodRole::kWorker) check_user_arguments(c.engine, pod.args, c.settings, findings_);
    pod.env = to_holes(environment(role, std::move(drain.environment)));
    pod.resources = c.resources.list;
    pod.resource_claims = pod_claims(claims_);
    pod.claims = container_claims(claims_);
    pod.capabilities = c.network.capabilities;
    if (role != PodRole::kWorker) add_http(pod);
    pod.model_host_path = c.model.host_path;
    pod.model_claim = c.model.claim;
    pod.shared_memory = c.resources.shared_memory;
    pod.drain_config_map = {.value = c.names.drain_hook, .reason = identity("the owner's name and -drain")};
    return pod;
  }

  void add_init_containers(PodRole role, PodValues& pod) const {
    InitContainersValues values = topology_;
    if (role == PodRole::kWorker) {
      values.wait_for_leader = {.file = "wait-for-leader.yaml",
                                .values = {.image = choices_.engine.image, .resources = choices_.resources.list}};
    }
    if (values.topology_check || values.wait_for_leader)
      pod.init_containers = {.file = "init-containers.yaml", .values = std::move(values)};
  }

  void add_placement(PodValues& pod) const {
    const Settings& s = choices_.settings;
    pod.node_selector = choices_.accelerator.node_selector;
    pod.toleration_key = choices_.accelerator.toleration_key;
    if (!s.tolerations) return;
    for (const Json& toleration : s.tolerations->value)
      pod.tolerations.push_back({.value = toleration, .reason = s.tolerations->reason("tolerations")});
  }

  void add_http(PodValues& pod) const {
    const Choices& c = choices_;
    pod.ports =
        HoleValue{.value = {{{"name", "http"}, {"containerPort", c.engine.facts->port.value}, {"protocol", "TCP"}}},
                  .reason = c.engine.facts->port.reason("port", {c.settings.engine_name.path}),
                  .parts = {}};
    pod.startup_probe = {.file = "probe.yaml", .values = c.probes.startup};
    pod.liveness_probe = {.file = "probe.yaml", .values = c.probes.liveness};
    pod.readiness_probe = {.file = "probe.yaml", .values = c.probes.readiness};
  }

  /// Later entries win by name: data files, the network, the drain hook, then the user.
  std::vector<EnvironmentEntry> environment(PodRole role, std::vector<EnvironmentEntry> drain) const {
    const Choices& c = choices_;
    std::vector<EnvironmentEntry> all = engine_environment(c.engine, role, named_, knowledge_, detail_);
    override_environment(all, c.network.environment);
    override_environment(all, std::move(drain));
    for (const auto* list : {&c.settings.network_env, &c.settings.engine_env}) {
      if (!*list) continue;
      std::vector<EnvironmentEntry> entries;
      for (const crd::EnvVar& variable : (*list)->value) {
        entries.push_back(
            {.name = variable.name, .source = variable.source, .reason = (*list)->reason("user_environment")});
      }
      override_environment(all, std::move(entries));
    }
    return all;
  }

  MetadataValues metadata(const std::string& name, const char* component) const {
    MetadataValues values{
        .object_name = {.value = name, .reason = identity("derived from the owner's name")},
        .ns = std::nullopt,
        .object_component = {.value = component, .reason = identity("what the object is for")},
        .owner_name = {.value = meta_.name, .reason = identity("the owner's name")},
        .templates_digest =
            {.value = std::string(templates_.digest()),
             .reason = {.rule = "templates_digest", .text = "SHA-256 over all templates", .inputs = {}, .source = {}}},
        .volcano_queue = std::nullopt,
        .kueue_queue = std::nullopt,
    };
    if (!meta_.ns.empty()) {
      values.ns = {
          .value = meta_.ns,
          .reason = {
              .rule = "identity", .text = "the owner's namespace", .inputs = {"metadata.namespace"}, .source = {}}};
    }
    return values;
  }

  template <typename... Values>
  Json& add(std::string_view file, const Values&... values) {
    auto object = fill(templates_, file, holes_of(values...), explain_);
    if (!object) {
      findings_.refuse("InvalidTemplates", "templates/" + std::string(file), object.error());
      return rendered_.objects.emplace_back();
    }
    return rendered_.objects.emplace_back(*std::move(object));
  }

  /// Before the pods, which refer to them by name.
  void add_claims() {
    const Choices& c = choices_;
    if (c.claims.gpus) {
      constexpr const char* kFile = "resourceclaimtemplate.yaml";
      const auto draft = fill(templates_, kFile, holes_of(metadata("", "claim"), *c.claims.gpus));
      // A fault of the templates is told when the object itself is made.
      const std::string name = c.names.claim_template(sha256_hex(draft ? (*draft)["spec"].dump() : ""));
      add(kFile, metadata(name, "claim"), *c.claims.gpus);
      claims_.push_back({kGpuClaim, {.value = name, .reason = c.settings.accelerator_mode.reason("claim_template")}});
    }
    if (c.claims.channel) {
      add("computedomain.yaml", metadata(c.names.workload, "compute-domain"), ComputeDomainValues{*c.claims.channel});
      claims_.push_back({kChannelClaim, *c.claims.channel});
    }
  }

  void add_drain_hook() { add("drain-hook.yaml", metadata(choices_.names.drain_hook, "drain-hook")); }

  /// One for each group, those of a surge included: a pod whose PodGroup is missing waits without a word.
  void add_pod_groups() {
    const Choices& c = choices_;
    if (c.sizing.replicas.value == 0) return;
    Traced<std::int64_t> all = c.sizing.nodes;
    all.reason.text = "all pods of a group: " + all.reason.text;
    if (c.gang.gang.value == crd::Gang::kNative) {
      add_one_for_each_group("podgroup.yaml", PodGroupValues{.min_count = std::move(all)});
    } else if (c.gang.volcano_groups == VolcanoGroups::kOperator) {
      add_one_for_each_group("volcano-podgroup.yaml",
                             VolcanoPodGroupValues{.min_member = std::move(all),
                                                   .min_resources = requests_of_group(merged_pod(server_),
                                                                                      merged_pod(worker_), c.settings),
                                                   .group_queue = c.gang.volcano_queue,
                                                   .group_priority = server_.priority_class});
    }
  }

  template <typename Values>
  void add_one_for_each_group(std::string_view file, const Values& values) {
    const std::int64_t groups = choices_.sizing.replicas.value + choices_.rollout.surge_replicas;
    for (std::int64_t i = 0; i < groups; ++i) add(file, metadata(choices_.names.pod_group(i), "gang"), values);
  }

  /// As the workload's template will have it.
  Json merged_pod(const PodValues& values) {
    auto pod = fill(templates_, "pod.yaml", holes_of(values));
    if (!pod) {
      findings_.refuse("InvalidTemplates", "templates/pod.yaml", pod.error());
      return Json::object();
    }
    for (const Setting<Json>& patch : choices_.settings.pod_templates) merge_pod_template(*pod, patch.value);
    return *std::move(pod);
  }

  void add_workload() {
    Choices& c = choices_;
    MetadataValues meta = metadata(c.names.workload, "server");
    if (c.gang.volcano_groups == VolcanoGroups::kLeaderWorkerSet) meta.volcano_queue = c.gang.volcano_queue;
    meta.kueue_queue = c.gang.kueue_queue;
    if (!is_group()) {
      const DeploymentValues values{
          .replicas = c.sizing.replicas,
          .progress_deadline = c.rollout.progress_deadline,
          .name = {.value = meta_.name, .reason = identity("the owner's name")},
          .max_surge = c.rollout.max_surge,
          .max_unavailable = c.rollout.max_unavailable,
          .pod = {.file = "pod.yaml", .values = std::move(server_)},
      };
      merge_pod_templates(add("deployment.yaml", meta, values), {"/spec/template"});
      return;
    }
    const GroupValues values{
        .replicas = c.sizing.replicas,
        .size = c.sizing.nodes,
        .max_surge = c.rollout.max_surge,
        .max_unavailable = c.rollout.max_unavailable,
        .leader = {.file = "pod.yaml", .values = std::move(server_)},
        .worker = {.file = "pod.yaml", .values = std::move(worker_)},
    };
    merge_pod_templates(add("leaderworkerset.yaml", meta, values),
                        {"/spec/leaderWorkerTemplate/leaderTemplate", "/spec/leaderWorkerTemplate/workerTemplate"});
  }

  void merge_pod_templates(Json& object, std::initializer_list<const char*> pointers) {
    if (object.is_null()) return;
    for (const char* pointer : pointers) {
      if (object.contains(Json::json_pointer(pointer))) continue;
      return findings_.refuse("InvalidTemplates", "templates",
                              "a " + object["kind"].get<std::string>() + " lacks " + pointer);
    }
    for (const Setting<Json>& patch : choices_.settings.pod_templates) {
      for (const char* pointer : pointers) merge_pod_template(object[Json::json_pointer(pointer)], patch.value);
      if (explain_ != nullptr) explain_->revise_last(object, patch.reason("pod_template"));
    }
    check_merged_pod(object[Json::json_pointer(*pointers.begin())], choices_.drain.grace_period.value, findings_);
  }

  void add_service() {
    const Choices& c = choices_;
    ServiceValues values{.name = {.value = meta_.name, .reason = identity("the owner's name")},
                         .server_component = std::nullopt,
                         .worker_index = std::nullopt,
                         .port = {.value = c.engine.facts->port.value,
                                  .reason = c.engine.facts->port.reason("port", {c.settings.engine_name.path})}};
    if (is_group()) {
      values.worker_index = {.value = "0", .reason = identity("LeaderWorkerSet gives the leader this index")};
    } else {
      values.server_component = {.value = "server", .reason = identity("the pods of the Deployment")};
    }
    add("service.yaml", metadata(c.names.service, "endpoint"), values);
  }

  void add_disruption_budget() {
    const Choices& c = choices_;
    if (!c.rollout.budget_max_unavailable && !c.rollout.budget_min_available) return;
    BudgetValues values{.name = {.value = meta_.name, .reason = identity("the owner's name")},
                        .max_unavailable = c.rollout.budget_max_unavailable,
                        .min_available = c.rollout.budget_min_available,
                        .server_component = std::nullopt,
                        .group_set = std::nullopt};
    if (is_group()) {
      values.group_set = {.value = c.names.workload, .reason = identity("the LeaderWorkerSet's name")};
    } else {
      values.server_component = {.value = "server", .reason = identity("the pods of the Deployment")};
    }
    add("poddisruptionbudget.yaml", metadata(c.names.workload, "disruption-budget"), values);
  }

  const Input& input_;
  const TemplateSet& templates_;
  const Knowledge& knowledge_;
  Explanations* explain_;
  Detail detail_;
  const crd::ObjectMeta& meta_;
  Choices choices_;
  std::vector<NamedSetting> named_;
  InitContainersValues topology_;
  PodClaims claims_;
  PodValues server_;  // a Deployment's, or the leader of a group
  PodValues worker_;
  Findings findings_;
  Findings unheard_;  // a worker's arguments repeat what the leader's said
  Rendered rendered_;
};

}  // namespace

std::expected<Rendered, Refusal> render(const Input& input, const TemplateSet& templates, Explanations* explain) {
  if (&templates == &TemplateSet::embedded()) return Renderer(input, templates, Knowledge::embedded(), explain).run();
  const auto knowledge = Knowledge::load(templates);
  if (!knowledge) {
    Refusal refusal{.reason = "InvalidTemplates", .errors = {}};
    for (const TemplateFault& fault : knowledge.error()) refusal.errors.push_back({"templates", to_string(fault)});
    return std::unexpected(std::move(refusal));
  }
  return Renderer(input, templates, *knowledge, explain).run();
}

}  // namespace inference::render
