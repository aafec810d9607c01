#pragma once

#include "base/json.h"
#include "render/decide/accelerator.h"
#include "render/decide/claims.h"
#include "render/decide/drain.h"
#include "render/decide/engine.h"
#include "render/decide/gang.h"
#include "render/decide/model.h"
#include "render/decide/names.h"
#include "render/decide/network.h"
#include "render/decide/probes.h"
#include "render/decide/resources.h"
#include "render/decide/rollout.h"
#include "render/decide/sizing.h"
#include "render/resolve.h"

namespace inference::render {

/// Every decision about one InferenceDeployment.
struct Choices {
  Settings settings;
  Sizing sizing;
  AcceleratorChoice accelerator;
  Names names;
  ModelSource model;
  PodResources resources;
  EngineChoice engine;
  GangChoice gang;
  ClaimChoice claims;
  NetworkChoice network;
  DrainChoice drain;  // of the pod that serves
  Probes probes;
  RolloutChoice rollout;
};

/// The effective spec in the shape of the user's, computed values included, for status.resolved.
[[nodiscard]] Json resolved_spec(const Choices& choices);

}  // namespace inference::render
