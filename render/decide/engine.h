#pragma once

#include <optional>
#include <string>
#include <vector>

#include "render/decide/environment.h"
#include "render/decide/model.h"
#include "render/decide/resources.h"
#include "render/decide/sizing.h"
#include "render/findings.h"
#include "render/knowledge.h"
#include "render/resolve.h"
#include "render/traced.h"

namespace inference::render {

/// Which of the pods a container is for: they differ in what they are told.
enum class PodRole { kServer, kLeader, kWorker };

/// The value of its component label, which the Deployment's immutable selector holds.
[[nodiscard]] std::string component_of(PodRole role);

/// Which engine runs, in which image, and whose flags it understands.
struct EngineChoice {
  const EngineFacts* facts = nullptr;  // null when the engine is unknown, which is refused
  Traced<std::string> image;
  std::optional<EngineVersion> version;  // absent: taken for the newest known
  std::string version_text;              // for people; empty where nothing depends on it
};

[[nodiscard]] EngineChoice decide_engine(const Settings& settings, const Knowledge& knowledge, Findings& findings);

/// A neutral setting as text, under the name that engine files use (`from`).
struct NamedSetting {
  std::string name;  // "serving.maxModelLen"
  std::string text;
  bool asked = false;  // by the user or the platform team: then it is refused rather than left out
  Reason reason;
};

/// All that engine files may name.
[[nodiscard]] std::vector<NamedSetting> named_settings(const Settings& settings, const std::string& object_name,
                                                       const EngineFacts& engine, const Sizing& sizing,
                                                       const PodResources& resources, const ModelSource& model,
                                                       const RuleConstants& rules);

/// The arguments for one role, in the order of the engine's file, then the user's own.
[[nodiscard]] std::vector<Traced<std::string>> engine_arguments(const EngineChoice& engine, PodRole role,
                                                                const std::vector<NamedSetting>& named,
                                                                const Settings& settings, Findings& findings,
                                                                Detail detail = Detail::kWithReasons);

/// The engine's and every engine's variables for one role.
[[nodiscard]] std::vector<EnvironmentEntry> engine_environment(const EngineChoice& engine, PodRole role,
                                                               const std::vector<NamedSetting>& named,
                                                               const Knowledge& knowledge,
                                                               Detail detail = Detail::kWithReasons);

/// What the user passes to the engine beyond our arguments, checked against what the engine's file knows.
void check_user_arguments(const EngineChoice& engine, const std::vector<Traced<std::string>>& ours,
                          const Settings& settings, Findings& findings);

[[nodiscard]] bool applies(Where where, PodRole role);

}  // namespace inference::render
