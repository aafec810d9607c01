#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"

namespace inference::reconcilers {

/// The GPUs of one InferenceDeployment: extended resources and devices of claims alike. A MIG slice, or one of the
/// shares of a GPU, counts as one.
struct Gpus {
  std::int64_t requested = 0;             // of all replicas of the spec
  std::int64_t allocated = 0;             // of pods that have a node, and of allocated claims
  std::vector<std::string> devices = {};  // of claims: DRIVER/POOL/DEVICE, sorted
  std::int64_t leaked = 0;                // of the groups below
  std::vector<std::string> leaking = {};  // hold GPUs for longer than a start may take, and do not serve; sorted
  Duration until_leak = Duration::max();  // how long until another one does; max: none will
};

/// What its pods and their claims hold at `now`. `startup` is how long a start may take; zero: not known, nothing
/// leaks. A group is judged by its leader's Ready condition; one that is going is not judged.
[[nodiscard]] Gpus read_gpus(const std::vector<Object>& pods, const std::vector<Object>& claims,
                             std::chrono::seconds startup, WallTime now);

/// As status.gpus shows it; of the devices the first kMostNamed.
[[nodiscard]] Json to_json(const Gpus& gpus);
inline constexpr std::size_t kMostNamed = 128;

/// What `read_gpus` reads of claims, for a FieldMask.
[[nodiscard]] std::vector<std::string> fields_of_claims();

}  // namespace inference::reconcilers
