#include "render/decide/engine.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace inference::render {

namespace {

/// The tag of an image reference; empty when it has none or is pinned by digest.
std::string_view tag_of(std::string_view image) {
  if (image.find('@') != std::string_view::npos) return {};
  const std::size_t slash = image.rfind('/');
  const std::size_t colon = image.rfind(':');
  if (colon == std::string_view::npos || (slash != std::string_view::npos && colon < slash)) return {};
  return image.substr(colon + 1);
}

/// Whose flags the image understands: what the user says, else what its tag says.
void decide_version(const Settings& settings, EngineChoice& engine, Findings& findings) {
  const EngineFacts& facts = *engine.facts;
  if (!facts.newest) {
    if (settings.engine_version) {
      findings.notice("EngineVersionNotUsed", settings.engine_version->path,
                      "nothing of the " + facts.name + " engine depends on its version");
    }
    return;
  }
  std::string path = "spec.engine.version";
  if (settings.engine_version) {
    engine.version_text = settings.engine_version->value;
  } else if (settings.image) {
    engine.version_text = tag_of(settings.image->value);
    path = settings.image->path;
  } else {
    engine.version_text = facts.default_version.value;
  }
  engine.version = parse_engine_version(engine.version_text);
  if (!engine.version) {
    findings.notice(
        "UnknownEngineVersion", path,
        (engine.version_text.empty() ? "the image has no tag" : "no version can be read from " + engine.version_text) +
            ": taken for " + facts.default_version.value + ", the newest known; set engine.version for an older one");
  } else if (*engine.version > *facts.newest) {
    findings.notice("NewerEngineVersion", path,
                    engine.version_text + " is newer than " + facts.default_version.value +
                        ", the newest known: rendered as that one");
  }
  if (settings.image && settings.engine_version) {
    const auto tagged = parse_engine_version(tag_of(settings.image->value));
    if (tagged && engine.version && *tagged != *engine.version) {
      findings.notice("EngineVersionMismatch", settings.engine_version->path,
                      "the image's tag says " + std::string(tag_of(settings.image->value)) +
                          ", the flags are those of " + engine.version_text);
    }
  }
}

void decide_image(const Settings& settings, EngineChoice& engine, Findings& findings) {
  const EngineFacts& facts = *engine.facts;
  if (settings.image) {
    engine.image = {.value = settings.image->value, .reason = settings.image->reason("image")};
    return;
  }
  if (facts.repository.value.empty()) {
    findings.refuse("InvalidSpec", "spec.engine.image",
                    "is needed: the " + facts.name + " engine has no image of its own");
    return;
  }
  Reason reason = facts.repository.reason("image", {"spec.engine.name", "spec.engine.version"});
  if (!settings.engine_version)
    reason.text += "; version " + facts.default_version.value + ": " + facts.default_version.why;
  const std::string& version = settings.engine_version ? settings.engine_version->value : facts.default_version.value;
  engine.image = {.value = facts.repository.value + ":" + facts.tag_prefix + version, .reason = std::move(reason)};
}

bool contains_flag(const std::vector<std::string>& flags, const std::string& name) {
  return std::ranges::any_of(flags, [&](const std::string& flag) { return flag_name(flag) == name; });
}

const NamedSetting* find_setting(const std::vector<NamedSetting>& named, const std::string& name) {
  const auto found = std::ranges::find(named, name, &NamedSetting::name);
  return found == named.end() ? nullptr : &*found;
}

Reason row_reason(const ArgumentRow& row, const NamedSetting* setting, Detail detail) {
  if (detail == Detail::kValuesOnly) return {};
  return {.rule = "engine_argument",
          .text = row.why,
          .inputs = setting == nullptr ? std::vector<std::string>{} : setting->reason.inputs,
          .source = row.source};
}

/// The row's value for a setting: the engine's own word, and where that word comes from.
Traced<std::string> translated(const ArgumentRow& row, const NamedSetting& setting, Detail detail) {
  const auto word = row.values.find(setting.text);
  if (detail == Detail::kValuesOnly) {
    return {.value = word == row.values.end() ? setting.text : word->second, .reason = {}};
  }
  if (word == row.values.end()) return {.value = setting.text, .reason = setting.reason};
  Reason reason = setting.reason;
  reason.text += ", which the engine calls " + word->second;
  return {.value = word->second, .reason = std::move(reason)};
}

/// What is said when the engine's version has not got the row's flag.
void leave_out(const EngineChoice& engine, const ArgumentRow& row, const NamedSetting* setting, Findings& findings) {
  const std::string flag = row.flag.empty() ? row.when_true.value_or(row.from) : row.flag;
  const std::string lacks =
      engine.facts->name + " " + engine.version_text + " has no " + flag + ", which came with " + row.since_text;
  if (row.where == Where::kGroup || row.where == Where::kWorker) {
    findings.refuse("NotSupported", "spec.engine.version", lacks + "; several nodes need it");
  } else if (setting != nullptr && setting->asked && setting->name.starts_with("serving.")) {
    findings.refuse("NotSupported", "spec." + setting->name, lacks);
  } else {
    findings.notice("EngineFlagLeftOut", "spec.engine.version", lacks + ": left out (it is for this: " + row.why + ")");
  }
}

void append_row(const EngineChoice& engine, const ArgumentRow& row, const NamedSetting* setting,
                std::vector<Traced<std::string>>& arguments, Findings& findings, Detail detail) {
  if (!row.from.empty() && setting == nullptr) return;
  if (!row.refuse.empty() && setting->asked && (row.refuse == "any" || row.refuse == setting->text)) {
    findings.refuse("NotSupported", "spec." + setting->name,
                    engine.facts->name + " has no flag for " + setting->text + ": " + row.instead);
    return;
  }
  if (setting != nullptr && row.omit == setting->text) return;
  std::string flag = row.flag;
  if (row.when_true || row.when_false) {
    flag = (setting->text == "true" ? row.when_true : row.when_false).value_or("");
    if (flag.empty()) return;
  } else if (!row.refuse.empty()) {
    return;
  }
  if (row.since && engine.version && *engine.version < *row.since) {
    leave_out(engine, row, setting, findings);
    return;
  }
  if (!flag.empty()) arguments.push_back({.value = std::move(flag), .reason = row_reason(row, setting, detail)});
  if (row.when_true || row.when_false) return;
  if (setting != nullptr) {
    arguments.push_back(translated(row, *setting, detail));
  } else if (!row.value.empty()) {
    arguments.push_back({.value = row.value, .reason = row_reason(row, nullptr, detail)});
  }
}

}  // namespace

std::string component_of(PodRole role) {
  switch (role) {
    case PodRole::kServer:
      return "server";
    case PodRole::kLeader:
      return "leader";
    case PodRole::kWorker:
      return "worker";
  }
  std::unreachable();
}

bool applies(Where where, PodRole role) {
  switch (where) {
    case Where::kEverywhere:
      return true;
    case Where::kServer:
      return role != PodRole::kWorker;
    case Where::kGroup:
      return role != PodRole::kServer;
    case Where::kWorker:
      return role == PodRole::kWorker;
  }
  std::unreachable();
}

EngineChoice decide_engine(const Settings& settings, const Knowledge& knowledge, Findings& findings) {
  EngineChoice engine;
  const auto facts = knowledge.engines.find(settings.engine_name.value);
  if (facts == knowledge.engines.end()) {
    std::string known;
    for (const auto& [name, unused] : knowledge.engines) known += (known.empty() ? "" : ", ") + name;
    findings.refuse("InvalidSpec", settings.engine_name.path,
                    "unknown engine " + settings.engine_name.value + "; known are " + known);
    return engine;
  }
  engine.facts = &facts->second;
  decide_version(settings, engine, findings);
  decide_image(settings, engine, findings);
  if (settings.nodes.value > 1 && engine.facts->multi_node.value != "supported") {
    findings.refuse("NotSupported", settings.nodes.path, engine.facts->multi_node.value);
  }
  return engine;
}

std::vector<NamedSetting> named_settings(const Settings& settings, const std::string& object_name,
                                         const EngineFacts& engine, const Sizing& sizing, const PodResources& resources,
                                         const ModelSource& model, const RuleConstants& rules) {
  std::vector<NamedSetting> named;
  named.reserve(16);
  const auto add = [&](const char* name, std::string text, bool asked, Reason reason) {
    named.push_back({.name = name, .text = std::move(text), .asked = asked, .reason = std::move(reason)});
  };
  const auto add_number = [&](const char* name, const MaybeSetting<std::int64_t>& setting) {
    if (setting) add(name, std::to_string(setting->value), setting->asked(), setting->reason("serving"));
  };
  const auto add_text = [&](const char* name, const MaybeSetting<std::string>& setting) {
    if (setting) add(name, setting->value, setting->asked(), setting->reason("serving"));
  };
  const auto add_switch = [&](const char* name, const MaybeSetting<bool>& setting) {
    if (setting) add(name, setting->value ? "true" : "false", setting->asked(), setting->reason("serving"));
  };
  add("model.path", model.path.value, true, model.path.reason);
  if (settings.served_name) {
    add("model.servedName", settings.served_name->value, settings.served_name->asked(),
        settings.served_name->reason("served_name"));
  } else {
    add("model.servedName", object_name, false,
        {.rule = "served_name", .text = "the object's own name", .inputs = {"metadata.name"}, .source = {}});
  }
  add("port", std::to_string(engine.port.value), false, engine.port.reason("port", {settings.engine_name.path}));
  add("parallelism.tensor", std::to_string(sizing.tensor.value), true, sizing.tensor.reason);
  add("parallelism.pipeline", std::to_string(sizing.pipeline.value), true, sizing.pipeline.reason);
  add_number("serving.maxModelLen", settings.max_model_len);
  add_number("serving.maxNumSeqs", settings.max_num_seqs);
  add_number("serving.maxNumBatchedTokens", settings.max_num_batched_tokens);
  add_text("serving.gpuMemoryUtilization", settings.gpu_memory_utilization);
  add_text("serving.kvCacheDtype", settings.kv_cache_dtype);
  add_switch("serving.prefixCaching", settings.prefix_caching);
  add_switch("serving.chunkedPrefill", settings.chunked_prefill);
  add("resources.threads", std::to_string(resources.threads.value), true, resources.threads.reason);
  add("drain.timeoutSeconds", std::to_string(settings.drain_timeout.value), true,
      settings.drain_timeout.reason("drain"));
  const std::int64_t least = rules.distributed_timeout.value;
  if (settings.startup_timeout.value > least) {
    Reason reason = settings.startup_timeout.reason("distributed_timeout");
    reason.text = "as long as a node may load: " + reason.text;
    add("distributed.timeoutSeconds", std::to_string(settings.startup_timeout.value), false, std::move(reason));
  } else {
    add("distributed.timeoutSeconds", std::to_string(least), false,
        rules.distributed_timeout.reason("distributed_timeout"));
  }
  return named;
}

std::vector<Traced<std::string>> engine_arguments(const EngineChoice& engine, PodRole role,
                                                  const std::vector<NamedSetting>& named, const Settings& settings,
                                                  Findings& findings, Detail detail) {
  std::vector<Traced<std::string>> arguments;
  arguments.reserve(engine.facts->arguments.size() * 2);
  for (const ArgumentRow& row : engine.facts->arguments) {
    if (applies(row.where, role)) append_row(engine, row, find_setting(named, row.from), arguments, findings, detail);
  }
  if (settings.args) {
    Reason reason = settings.args->reason("user_arguments");
    reason.text += ", after ours: an engine takes the last of two";
    for (const std::string& argument : settings.args->value) arguments.push_back({.value = argument, .reason = reason});
  }
  return arguments;
}

std::vector<EnvironmentEntry> engine_environment(const EngineChoice& engine, PodRole role,
                                                 const std::vector<NamedSetting>& named, const Knowledge& knowledge,
                                                 Detail detail) {
  std::vector<EnvironmentEntry> environment;
  for (const auto* rows : {&knowledge.environment, &engine.facts->environment}) {
    std::vector<EnvironmentEntry> entries;
    entries.reserve(rows->size());
    for (const EnvironmentRow& row : *rows) {
      if (!applies(row.where, role)) continue;
      const NamedSetting* setting = find_setting(named, row.from);
      Reason reason;
      if (detail == Detail::kWithReasons) {
        reason = {.rule = "engine_environment", .text = row.why, .inputs = {}, .source = row.source};
        if (setting != nullptr) {
          reason.text += "; " + setting->reason.text;
          reason.inputs = setting->reason.inputs;
        }
      }
      if (!row.field.empty()) {
        entries.push_back({.name = row.name,
                           .source = {{"valueFrom", {{"fieldRef", {{"fieldPath", row.field}}}}}},
                           .reason = std::move(reason)});
      } else if (setting != nullptr) {
        entries.push_back(constant_entry(row.name, setting->text, std::move(reason)));
      } else {
        entries.push_back(constant_entry(row.name, row.value, std::move(reason)));
      }
    }
    override_environment(environment, std::move(entries));
  }
  return environment;
}

void check_user_arguments(const EngineChoice& engine, const std::vector<Traced<std::string>>& ours,
                          const Settings& settings, Findings& findings) {
  if (!settings.args) return;
  const std::size_t rendered = ours.size() - settings.args->value.size();
  for (std::size_t i = 0; i < settings.args->value.size(); ++i) {
    const std::string& argument = settings.args->value[i];
    if (!argument.starts_with("-")) continue;
    const std::string name = flag_name(argument);
    const std::string path = settings.args->path + "[" + std::to_string(i) + "]";
    if (contains_flag(engine.facts->removed_arguments, name)) {
      findings.notice(
          "RemovedEngineFlag", path,
          engine.facts->name + " " + engine.facts->default_version.value + " exits with an error on " + name);
    }
    if (contains_flag(engine.facts->blinding_arguments, name)) {
      findings.notice(
          "DrainIsBlind", path,
          name + " hides from the drain hook whether the engine is idle: every pod takes its whole drain time to end");
    }
    const bool repeated = std::any_of(
        ours.begin(), ours.begin() + static_cast<std::ptrdiff_t>(rendered),
        [&](const Traced<std::string>& our) { return our.value.starts_with("-") && flag_name(our.value) == name; });
    if (repeated) {
      findings.notice("EngineArgumentRepeated", path,
                      name +
                          " is rendered too; the engine takes the last one, which is yours. What follows from ours "
                          "(probes, GPUs, drain) stays");
    }
  }
}

}  // namespace inference::render
