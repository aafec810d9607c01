#pragma once

#include "diagnose/diagnosis.h"
#include "diagnose/engine_failure.h"

namespace inference::diagnose {

/// The rules by what they look at; diagnosis.cc puts them in order.
[[nodiscard]] std::vector<Rule> rules_of_objects();     // the model itself: is it there, refused, blocked, ready
[[nodiscard]] std::vector<Rule> rules_of_containers();  // pods that have a node and do not serve
[[nodiscard]] std::vector<Rule> rules_of_scheduling();  // pods that have none
[[nodiscard]] std::vector<Rule> rules_of_progress();    // nothing is wrong yet

/// What to do about an engine that has failed; `log` is the command that shows what it printed.
[[nodiscard]] std::string step_for(const Evidence& evidence, const EngineFailure& failure, const std::string& log);

}  // namespace inference::diagnose
