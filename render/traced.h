#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/json.h"

namespace inference::render {

/// Why a value is what it is: the half of an explanation that the decision knows. The other half, why the line exists,
/// is the template's.
struct Reason {
  std::string rule = {};                 // snake_case name of the rule that decided
  std::string text = {};                 // why it has this value, a plain clause
  std::vector<std::string> inputs = {};  // what the rule looked at, as paths: "spec.replicas"
  std::string source = {};  // "templates/engines/vllm.yaml:31" when the text comes from a data file; else empty
  friend bool operator==(const Reason&, const Reason&) = default;
};

/// A decided value and why it was decided so.
template <typename T>
struct Traced {
  T value;
  Reason reason;
};

/// A reason for one part of a value; `pointer` is a JSON pointer relative to the value: "/0" is the first argument of
/// `args`.
struct Part {
  std::string pointer;
  Reason reason;
};

/// A whole subtree that fills a hole. A leaf is explained by the part nearest above it, by `reason` where there is
/// none.
struct HoleValue {
  Json value;
  Reason reason;
  std::vector<Part> parts = {};
};

/// A hole that is filled by another template with its own values: the leader's and the worker's pod of one
/// LeaderWorkerSet are both pod.yaml.
/// (`!include` cannot do that, because it shares the holes of the including file.) Its leaves are explained by the
/// lines of `file`.
template <typename Values>
struct SubTemplate {
  std::string file;  // as in TemplateSet: "pod.yaml"
  Values values;     // has a table kHolesOf<Values>
};

}  // namespace inference::render
