#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "operator/client/resource.h"
#include "reconcilers/gather.h"
#include "render/render.h"

namespace inference::reconcilers {

/// A live child that can't become what it is to be, and has to go first.
struct Recreation {
  std::string uid;  // of the live one
  std::string why;
};

/// One child that must be written, and what is known of it.
struct Write {
  client::Resource resource;
  Json object;          // as it is to be, owner and hash included
  bool cached = false;  // the cache holds it and it is ours: written over with force. Otherwise someone else's may be
                        // there, so we look first
  std::string why;      // "absent", "changed at spec.replicas", "rendered anew": for the log
  std::optional<Recreation> recreation = std::nullopt;
};

/// One child that the spec no longer asks for.
struct Removal {
  client::Resource resource;
  client::ObjectRef ref;
  std::string uid;
};

/// What is to be done about one InferenceDeployment. Made from what was observed, without touching the world.
struct Plan {
  std::optional<render::Rendered> rendered;  // either this …
  std::optional<render::Refusal> refusal;  // … or this: then nothing is written or removed, what runs stays as it is
  std::vector<Write> writes;               // in the order of rendering; empty when all is as it should be
  std::vector<Removal> removals;           // done only once every write has succeeded
  bool awaits_end = false;                 // a child is being deleted, and is made anew once it is gone
};

/// `facts` is only read for objects that need it.
[[nodiscard]] Plan make_plan(const Observed& observed, const render::ClusterFacts& facts,
                             const render::TemplateSet& templates);

/// Whether `make_plan` will look at the cluster's facts.
[[nodiscard]] bool needs_cluster_facts(const Observed& observed);

/// The queue that Kueue may have for the model: then `make_plan` will look at the queue's facts too.
[[nodiscard]] std::optional<std::string> queue_of(const Observed& observed);

/// Why `live` must be written again to be `desired`; nothing when it is as it should be.
[[nodiscard]] std::optional<std::string> reason_to_write(const Json& live, const Json& desired);

}  // namespace inference::reconcilers
