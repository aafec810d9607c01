#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "render/template_tree.h"
#include "render/traced.h"

namespace inference::render {

/// The line that a leaf comes from, and why that line exists.
struct Origin {
  std::string place = {};  // "templates/deployment.yaml:12"; empty for a leaf that no template wrote (spec.podTemplate)
  Why why = {};
};

/// Why one leaf of a rendered object is there (origin) and has this value (reason; none when the template holds the
/// constant).
struct Explanation {
  std::string pointer;    // JSON pointer into the object
  std::string path = {};  // for people: spec.template.spec.containers[name=engine].image
  Json value = {};        // a scalar, {} or []
  Origin origin = {};
  std::optional<Reason> reason = {};
};

struct ExplainedObject {
  std::string title;  // "Deployment default/llama-70b"
  std::vector<Explanation> leaves;
};

/// Records why each rendered leaf is what it is; passed down as a pointer that may be null. Not thread-safe: one for
/// each render.
class Explanations {
 public:
  /// Records an object and gives it a title. Of `leaves`, pointer, origin and reason are taken, in any order. Called by
  /// fill.
  void add(const Json& object, std::vector<Explanation> leaves);

  /// Tells that the object recorded last became `object` after it was filled (a podTemplate was merged in): a leaf that
  /// kept path and value keeps its explanation, any other is explained by `reason` alone. Leaves that are gone are
  /// forgotten.
  void revise_last(const Json& object, const Reason& reason);

  [[nodiscard]] const std::vector<ExplainedObject>& objects() const { return objects_; }

 private:
  std::vector<ExplainedObject> objects_;
};

/// Whether the leaf lies at or under `path`, which may be written as shown (`spec.ports[name=http]`), by index
/// (`spec.ports[0]`, `{.spec.ports[0]}`,
/// `$.spec.ports[0]`) or as a JSON pointer (`/spec/ports/0`). An empty path means everything.
[[nodiscard]] bool is_under(const Explanation& leaf, std::string_view path);

/// The objects' leaves at or under `path`, one line each, by object:
///   Deployment default/llama-70b
///     spec.replicas: 6  ← templates/deployment.yaml:12 (why: …)  ← replicas: 6 requested (spec.replicas)
/// An inherited why says from which line. Long strings are cut. Objects without such a leaf are left out.
[[nodiscard]] std::string to_text(const Explanations& explanations, std::string_view path = {});

/// The same as a list of {object, leaves: [{path, pointer, value, origin: {place, why, ref, inheritedFrom}, reason:
/// {rule, text, inputs, source}}]}.
[[nodiscard]] Json to_json(const Explanations& explanations, std::string_view path = {});

}  // namespace inference::render
