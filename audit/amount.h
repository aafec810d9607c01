#pragma once

#include <optional>
#include <string>

#include "crd/quantity.h"

namespace inference::audit {

/// An amount of a resource as Kubernetes counts it: nothing for what is no quantity, and for zero, which is as good as
/// absent.
[[nodiscard]] inline std::optional<crd::Quantity> amount(const std::string& text) {
  const auto parsed = crd::Quantity::parse(text);
  if (!parsed || *parsed == crd::Quantity()) return std::nullopt;
  return *parsed;
}

}  // namespace inference::audit
