#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "render/template_set.h"
#include "render/traced.h"

namespace inference::render {

/// Whether anybody will read the reasons. Those of arguments and variables are long texts, and would be a fifth of the
/// time of a rendering that nobody wants explained.
enum class Detail { kValuesOnly, kWithReasons };

/// A constant of a data file, with its reason: what a rule takes from it stays explained.
template <typename T>
struct Fact {
  T value{};
  std::string why;
  std::string source;  // "templates/defaults.yaml:12"

  [[nodiscard]] Reason reason(std::string_view rule, std::vector<std::string> inputs = {}) const {
    return {.rule = std::string(rule), .text = why, .inputs = std::move(inputs), .source = source};
  }
};

/// MAJOR.MINOR.PATCH of an engine; what follows ("rc1", "-cu129") is not compared.
struct EngineVersion {
  std::array<std::int64_t, 3> parts{};
  friend auto operator<=>(const EngineVersion&, const EngineVersion&) = default;
};

/// Takes "0.33.0", "v0.33.0-cu129", "0.18.0rc1"; nothing from "latest", "0.x.y" or a single number.
[[nodiscard]] std::optional<EngineVersion> parse_engine_version(std::string_view text);

/// An argument's name without its value, dashes and underscores alike: engines take both.
[[nodiscard]] std::string flag_name(std::string_view argument);

/// Which pods a row of an engine file is for.
enum class Where { kEverywhere, kServer, kGroup, kWorker };

/// One row of an engine's `arguments`: how one setting is said to the engine.
struct ArgumentRow {
  std::string flag;                       // empty: only the value (a positional argument)
  std::string from;                       // name of the setting; empty: always rendered
  std::string value;                      // a constant, in place of `from`
  std::optional<std::string> when_true;   // switches: the argument that turns it on; empty: on by default
  std::optional<std::string> when_false;  // and off
  std::optional<std::string> omit;        // no argument for this value
  std::string refuse;                     // "any" or the value that cannot be said; `instead` tells what to do
  std::string instead;
  std::map<std::string, std::string> values;  // the engine's word for a neutral one
  Where where = Where::kEverywhere;
  std::optional<EngineVersion> since;
  std::string since_text;
  std::string why;
  std::string source;
};

/// One row of an `environment`.
struct EnvironmentRow {
  std::string name;
  std::string from;   // name of the setting
  std::string value;  // a constant
  std::string field;  // a field of the pod
  Where where = Where::kEverywhere;
  std::string why;
  std::string source;
};

struct ProbeFacts {
  std::string path;
  std::int64_t period_seconds = 0;  // 0 for the startup probe, whose budget is a setting
  std::int64_t failure_threshold = 0;
  std::int64_t timeout_seconds = 0;
  std::string why;
  std::string source;
};

/// How the preStop hook learns that an engine is idle (modes: templates/drain-hook.yaml).
struct DrainFacts {
  Fact<std::string> mode;
  Fact<std::string> workers;    // mode of a group's workers
  Fact<std::string> load_path;  // the rest is empty where the mode does not use it
  Fact<std::string> metrics_path;
  Fact<std::string> gauges;  // names, separated by blanks
  Fact<std::string> post_path;
  Fact<std::int64_t> idle_seconds;
};

/// One file of templates/engines.
struct EngineFacts {
  std::string name;
  std::optional<Fact<std::vector<std::string>>> command;  // absent: the image's entrypoint
  Fact<std::string> repository;                           // empty: the user must name the image
  std::string tag_prefix;
  Fact<std::string> default_version;
  std::optional<EngineVersion> newest;  // absent: nothing depends on the version
  Fact<std::int64_t> port;
  ProbeFacts startup, liveness, readiness;
  DrainFacts drain;
  Fact<std::string> multi_node;  // "supported", or why not
  std::vector<ArgumentRow> arguments;
  std::vector<EnvironmentRow> environment;
  std::vector<std::string> removed_arguments;    // the newest version exits on them
  std::vector<std::string> removed_environment;  // the newest version does not read them
  std::vector<std::string> blinding_arguments;   // they take from the drain hook what it reads
};

/// The constants of templates/defaults.yaml under `rules`.
struct RuleConstants {
  Fact<std::int64_t> cpu_per_gpu, propagation_wait, teardown, startup_probe_period, distributed_timeout, image_pull,
      short_drain, common_node_gpus;
  Fact<std::string> memory_per_gpu, shared_memory_per_gpu, shared_memory_minimum;
  Fact<std::string> device_class, mig_device_class;
  Fact<double> threads_per_cpu;
};

/// All data files of a TemplateSet in typed form: what the rules know, as far as it is not a rule. Immutable; share it
/// freely.
struct Knowledge {
  std::map<std::string, Fact<Json>, std::less<>> built_in;  // path ("spec.drain.timeoutSeconds") → default
  RuleConstants rules;
  std::vector<EnvironmentRow> environment;  // of every engine
  std::map<std::string, EngineFacts, std::less<>> engines;

  /// That of TemplateSet::embedded(), read at the first call.
  [[nodiscard]] static const Knowledge& embedded();
  /// What is missing, of a wrong type or unknown; only files given by --templates can be wrong. Of missing values and
  /// wrong types the first one ends the reading.
  [[nodiscard]] static std::expected<Knowledge, std::vector<TemplateFault>> load(const TemplateSet& templates);
};

}  // namespace inference::render
