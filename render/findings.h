#pragma once

#include <string>
#include <utility>
#include <vector>

#include "render/render.h"

namespace inference::render {

/// What the rules have to say besides their values: all that is wrong is collected before anything is refused.
struct Findings {
  struct Fault {
    std::string reason;  // as Refusal::reason
    crd::FieldError error;
  };
  std::vector<Fault> faults;
  std::vector<Notice> notices;

  void refuse(std::string reason, std::string path, std::string message) {
    faults.push_back({std::move(reason), {std::move(path), std::move(message)}});
  }
  void notice(std::string reason, std::string path, std::string message) {
    notices.push_back({std::move(reason), std::move(path), std::move(message)});
  }
  /// Only valid when there are faults: the first one's reason speaks for all.
  [[nodiscard]] Refusal to_refusal() const {
    Refusal refusal{.reason = faults.front().reason, .errors = {}};
    for (const Fault& fault : faults) refusal.errors.push_back(fault.error);
    return refusal;
  }
};

}  // namespace inference::render
