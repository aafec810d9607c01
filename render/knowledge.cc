#include "render/knowledge.h"

#include <algorithm>
#include <charconv>
#include <ranges>
#include <set>
#include <stdexcept>
#include <utility>

#include "crd/quantity.h"
#include "crd/schema.h"
#include "crd/schema_validator.h"

namespace inference::render {

namespace {

/// What is wrong with a data file; thrown and caught in this file only.
struct DataFault {
  TemplateFault fault;
};

/// The nodes that somebody has asked for: the others are nothing that is known.
using Asked = std::set<const TemplateNode*>;

/// A node of a data file, read with the type that is wanted or refused with its place.
class Data {
 public:
  /// `asked` must outlive it.
  Data(const Template& file, const TemplateNode& node, Asked& asked) : file_(&file), node_(&node), asked_(&asked) {
    asked.insert(&node);
  }

  [[nodiscard]] Data at(std::string_view key) const {
    const auto child = find(key);
    if (!child) fail("lacks " + std::string(key));
    return *child;
  }
  [[nodiscard]] std::optional<Data> find(std::string_view key) const {
    const TemplateNode* child = node_->find(key);
    return child == nullptr ? std::nullopt : std::optional(Data(*file_, *child, *asked_));
  }
  [[nodiscard]] std::vector<Data> items() const {
    if (node_->kind != TemplateNode::Kind::kSequence) fail("must be a list");
    std::vector<Data> items;
    for (const TemplateNode& child : node_->children) items.emplace_back(*file_, child, *asked_);
    return items;
  }
  /// The fields of a mapping whose names are data themselves.
  [[nodiscard]] std::vector<std::pair<std::string, Data>> entries() const {
    if (!is_mapping()) fail("must be a mapping");
    std::vector<std::pair<std::string, Data>> entries;
    for (const TemplateNode& child : node_->children) entries.emplace_back(child.key, Data(*file_, child, *asked_));
    return entries;
  }
  [[nodiscard]] bool is_mapping() const { return node_->kind == TemplateNode::Kind::kMapping; }
  [[nodiscard]] const Json& json() const { return node_->json; }
  [[nodiscard]] std::string why() const { return node_->why.text; }
  [[nodiscard]] std::string source() const { return place_of(*file_, *node_); }

  template <typename T>
  [[nodiscard]] T as() const {
    if constexpr (std::is_same_v<T, std::string>) {
      if (!json().is_string()) fail("must be text");
    } else if constexpr (std::is_same_v<T, std::int64_t>) {
      if (!json().is_number_integer()) fail("must be a whole number");
    } else if constexpr (std::is_same_v<T, double>) {
      if (!json().is_number()) fail("must be a number");
    }
    return json().get<T>();
  }
  template <typename T>
  [[nodiscard]] Fact<T> fact() const {
    return {.value = as<T>(), .why = why(), .source = source()};
  }
  [[nodiscard]] std::string text_or_empty(std::string_view key) const {
    const auto child = find(key);
    return child ? child->as<std::string>() : std::string();
  }
  template <typename T>
  [[nodiscard]] Fact<T> fact_or_empty(std::string_view key) const {
    const auto child = find(key);
    return child ? child->fact<T>() : Fact<T>{.value = T{}, .why = why(), .source = source()};
  }
  [[nodiscard]] std::vector<std::string> texts(std::string_view key) const {
    std::vector<std::string> texts;
    const auto list = find(key);
    if (!list) return texts;
    for (const Data& item : list->items()) texts.push_back(item.as<std::string>());
    return texts;
  }
  [[nodiscard]] TemplateFault fault(std::string message) const {
    return {.file = file_->file, .line = node_->line, .message = std::move(message)};
  }
  [[noreturn]] void fail(std::string message) const { throw DataFault{fault(std::move(message))}; }

 private:
  const Template* file_;
  const TemplateNode* node_;
  Asked* asked_;
};

/// Fields that nobody asked for, although the mapping around them was read.
void find_unknown(const Template& file, const TemplateNode& node, const Asked& asked,
                  std::vector<TemplateFault>& faults) {
  for (const TemplateNode& child : node.children) {
    if (!asked.contains(&child)) {
      faults.push_back({.file = file.file, .line = child.line, .message = "unknown field " + child.key});
    } else {
      find_unknown(file, child, asked, faults);
    }
  }
}

Where where_of(const Data& row) {
  const std::string text = row.text_or_empty("where");
  if (text.empty()) return Where::kEverywhere;
  if (text == "server") return Where::kServer;
  if (text == "group") return Where::kGroup;
  if (text == "worker") return Where::kWorker;
  row.fail("where must be server, group or worker");
}

std::optional<std::string> optional_text(const Data& row, std::string_view key) {
  const auto child = row.find(key);
  return child ? std::optional(child->as<std::string>()) : std::nullopt;
}

ArgumentRow argument_row(const Data& row) {
  ArgumentRow argument{
      .flag = row.text_or_empty("flag"),
      .from = row.text_or_empty("from"),
      .value = row.text_or_empty("value"),
      .when_true = optional_text(row, "whenTrue"),
      .when_false = optional_text(row, "whenFalse"),
      .omit = optional_text(row, "omit"),
      .refuse = row.text_or_empty("refuse"),
      .instead = row.text_or_empty("instead"),
      .values = {},
      .where = where_of(row),
      .since = {},
      .since_text = row.text_or_empty("since"),
      .why = row.why(),
      .source = row.source(),
  };
  if (const auto values = row.find("values")) {
    for (const auto& [neutral, word] : values->entries()) argument.values.emplace(neutral, word.as<std::string>());
  }
  if (!argument.since_text.empty()) {
    argument.since = parse_engine_version(argument.since_text);
    if (!argument.since) row.fail("since must be a version");
  }
  return argument;
}

std::vector<EnvironmentRow> environment_rows(const Data& list) {
  std::vector<EnvironmentRow> rows;
  for (const Data& row : list.items()) {
    rows.push_back({.name = row.at("name").as<std::string>(),
                    .from = row.text_or_empty("from"),
                    .value = row.text_or_empty("value"),
                    .field = row.text_or_empty("fieldRef"),
                    .where = where_of(row),
                    .why = row.why(),
                    .source = row.source()});
  }
  return rows;
}

ProbeFacts probe_facts(const Data& probe) {
  const auto number = [&](std::string_view key) {
    const auto child = probe.find(key);
    return child ? child->as<std::int64_t>() : 0;
  };
  return {.path = probe.at("path").as<std::string>(),
          .period_seconds = number("periodSeconds"),
          .failure_threshold = number("failureThreshold"),
          .timeout_seconds = probe.at("timeoutSeconds").as<std::int64_t>(),
          .why = probe.why(),
          .source = probe.source()};
}

DrainFacts drain_facts(const Data& drain) {
  DrainFacts facts{
      .mode = drain.at("mode").fact<std::string>(),
      .workers = drain.at("workers").fact<std::string>(),
      .load_path = drain.fact_or_empty<std::string>("loadPath"),
      .metrics_path = drain.fact_or_empty<std::string>("metricsPath"),
      .gauges = {},
      .post_path = drain.fact_or_empty<std::string>("postPath"),
      .idle_seconds = drain.at("idleSeconds").fact<std::int64_t>(),
  };
  if (const auto gauges = drain.find("gauges")) {
    facts.gauges = {.value = {}, .why = gauges->why(), .source = gauges->source()};
    for (const std::string& name : drain.texts("gauges")) {
      if (!facts.gauges.value.empty()) facts.gauges.value += ' ';
      facts.gauges.value += name;
    }
  }
  return facts;
}

EngineFacts engine_facts(const Data& root) {
  EngineFacts engine;
  engine.name = root.at("name").as<std::string>();
  if (const auto command = root.find("command")) {
    engine.command = {.value = root.texts("command"), .why = command->why(), .source = command->source()};
  }
  const Data image = root.at("image");
  engine.repository = image.fact_or_empty<std::string>("repository");
  engine.tag_prefix = image.text_or_empty("tagPrefix");
  const Data version = root.at("version");
  engine.default_version = version.fact_or_empty<std::string>("default");
  if (const auto newest = version.find("newest")) {
    engine.newest = parse_engine_version(newest->as<std::string>());
    if (!engine.newest) newest->fail("must be a version");
  }
  engine.port = root.at("port").fact<std::int64_t>();
  const Data probes = root.at("probes");
  engine.startup = probe_facts(probes.at("startup"));
  engine.liveness = probe_facts(probes.at("liveness"));
  engine.readiness = probe_facts(probes.at("readiness"));
  engine.drain = drain_facts(root.at("drain"));
  engine.multi_node = root.at("multiNode").fact<std::string>();
  for (const Data& row : root.at("arguments").items()) engine.arguments.push_back(argument_row(row));
  engine.environment = environment_rows(root.at("environment"));
  engine.removed_arguments = root.texts("removedArguments");
  engine.removed_environment = root.texts("removedEnvironment");
  engine.blinding_arguments = root.texts("blindingArguments");
  return engine;
}

void collect_built_in(const Data& node, const std::string& path,
                      std::map<std::string, Fact<Json>, std::less<>>& facts) {
  if (!node.is_mapping()) {
    if (node.json().is_array()) node.fail("a list has no built-in default");
    facts.emplace(path, Fact<Json>{.value = node.json(), .why = node.why(), .source = node.source()});
    return;
  }
  for (const auto& [name, child] : node.entries()) collect_built_in(child, path + "." + name, facts);
}

RuleConstants rule_constants(const Data& rules) {
  const auto at_least = [&](std::int64_t least, std::string_view key) {
    auto fact = rules.at(key).fact<std::int64_t>();
    if (fact.value < least) rules.at(key).fail("must be at least " + std::to_string(least));
    return fact;
  };
  const auto positive = [&](std::string_view key) { return at_least(1, key); };
  const auto number = [&](std::string_view key) { return at_least(0, key); };
  const auto quantity = [&](std::string_view key) {
    auto fact = rules.at(key).fact<std::string>();
    if (const auto parsed = crd::Quantity::parse(fact.value); !parsed) rules.at(key).fail(parsed.error());
    return fact;
  };
  const auto share = rules.at("threadsPerCpu").fact<double>();
  if (share.value <= 0) rules.at("threadsPerCpu").fail("must be more than 0");
  return {
      .cpu_per_gpu = positive("cpuPerGpu"),
      .propagation_wait = number("propagationWaitSeconds"),
      .teardown = number("teardownSeconds"),
      .startup_probe_period = positive("startupProbePeriodSeconds"),
      .distributed_timeout = number("distributedTimeoutSeconds"),
      .image_pull = number("imagePullSeconds"),
      .short_drain = number("shortDrainSeconds"),
      .common_node_gpus = positive("gpusOfACommonNode"),
      .memory_per_gpu = quantity("memoryPerGpu"),
      .shared_memory_per_gpu = quantity("sharedMemoryPerGpu"),
      .shared_memory_minimum = quantity("sharedMemoryMinimum"),
      .device_class = rules.at("deviceClass").fact<std::string>(),
      .mig_device_class = rules.at("migDeviceClass").fact<std::string>(),
      .threads_per_cpu = share,
  };
}

/// The defaults must be what a spec may hold, since they take the place of what a user says.
void check_built_in(const Data& spec, const Template& file, std::vector<TemplateFault>& faults) {
  for (const crd::FieldError& error :
       crd::validate(*crd::inference_deployment_schema().property("spec"), spec.json(), "spec")) {
    if (error.message == "is required") continue;  // what only a user knows; for the rest see need_built_in
    const TemplateNode* node = &file.root;
    for (const auto word : std::views::split(std::string_view(error.path), '.')) {
      const TemplateNode* child = node->find(std::string_view(word));
      if (child == nullptr) break;
      node = child;
    }
    faults.push_back({.file = file.file, .line = node->line, .message = to_string(error)});
  }
}

/// What the rules need whoever says nothing.
void need_built_in(const Data& spec, const Knowledge& knowledge) {
  for (const char* path : {"spec.parallelism.tensor", "spec.nodes", "spec.replicas", "spec.suspend", "spec.engine.name",
                           "spec.accelerator.resourceName", "spec.accelerator.mode", "spec.accelerator.sharing",
                           "spec.cache.mode", "spec.startup.timeoutSeconds", "spec.drain.timeoutSeconds",
                           "spec.rollout.maxSurge", "spec.rollout.maxUnavailable", "spec.scheduling.gang",
                           "spec.topologyCheck", "spec.disruption.maxUnavailable"}) {
    if (!knowledge.built_in.contains(path)) spec.fail(std::string("lacks ") + path);
  }
}

/// The data files of one set, and what is wrong in them.
class Reader {
 public:
  explicit Reader(const TemplateSet& templates) : templates_(templates) {}

  Knowledge read() {
    Knowledge knowledge;
    const Data defaults = root_of("defaults.yaml");
    const Data spec = defaults.at("spec");
    check_built_in(spec, *templates_.find("defaults.yaml"), faults_);
    collect_built_in(spec, "spec", knowledge.built_in);
    need_built_in(spec, knowledge);
    knowledge.rules = rule_constants(defaults.at("rules"));
    knowledge.environment = environment_rows(root_of("environment.yaml").at("environment"));
    for (const std::string_view file : templates_.files()) {
      if (!file.starts_with("engines/")) continue;
      const Data root = root_of(file);
      EngineFacts engine = engine_facts(root);
      const std::string name = engine.name;
      if (!knowledge.engines.emplace(name, std::move(engine)).second)
        root.fail("another file is engine " + name + " too");
    }
    if (knowledge.engines.empty()) throw DataFault{{.file = "engines", .line = 0, .message = "holds no engine"}};
    for (const Template* file : read_) find_unknown(*file, file->root, asked_, faults_);
    return knowledge;
  }

  std::vector<TemplateFault> take_faults() { return std::move(faults_); }

 private:
  Data root_of(std::string_view name) {
    const Template* file = templates_.find(name);
    if (file == nullptr) throw DataFault{{.file = std::string(name), .line = 0, .message = "there is no such file"}};
    read_.push_back(file);
    return {*file, file->root, asked_};
  }

  const TemplateSet& templates_;
  Asked asked_;
  std::vector<const Template*> read_;
  std::vector<TemplateFault> faults_;
};

}  // namespace

std::string flag_name(std::string_view argument) {
  std::string name(argument.substr(0, argument.find('=')));
  std::ranges::replace(name, '_', '-');
  return name;
}

std::optional<EngineVersion> parse_engine_version(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  EngineVersion version;
  std::size_t count = 0;
  while (count < version.parts.size()) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version.parts[count]);
    if (error != std::errc()) break;
    ++count;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (!text.starts_with('.')) break;
    text.remove_prefix(1);
  }
  // One number alone is a date or a build, not a version.
  return count < 2 ? std::nullopt : std::optional(version);
}

const Knowledge& Knowledge::embedded() {
  static const Knowledge knowledge = [] {
    auto loaded = load(TemplateSet::embedded());
    if (!loaded) throw std::logic_error(to_string(loaded.error().front()));
    return *std::move(loaded);
  }();
  return knowledge;
}

std::expected<Knowledge, std::vector<TemplateFault>> Knowledge::load(const TemplateSet& templates) {
  Reader reader(templates);
  try {
    Knowledge knowledge = reader.read();
    auto faults = reader.take_faults();
    if (faults.empty()) return knowledge;
    return std::unexpected(std::move(faults));
  } catch (DataFault& broken) {
    auto faults = reader.take_faults();
    faults.push_back(std::move(broken.fault));
    return std::unexpected(std::move(faults));
  }
}

}  // namespace inference::render
