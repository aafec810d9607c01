#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace inference::client {

/// Which members of an object are kept when it is decoded. What is not kept is skipped and never built: of a pod we
/// read a twentieth. Immutable, cheap to copy, thread-safe.
class FieldMask {
 public:
  /// Keeps everything.
  FieldMask() = default;
  /// Everything but these, e.g. "metadata.managedFields": paths of member names, not through lists.
  [[nodiscard]] static FieldMask without(std::vector<std::string> paths);
  /// These and what is below them; apiVersion, kind and the metadata that tells an object from another are always kept.
  [[nodiscard]] static FieldMask only(std::vector<std::string> paths);

  /// Parses JSON text in which objects lie `depth` containers deep (0: the text is the object); what lies above is
  /// kept. A list is a member without a name, and what lies deeper than the longest path goes with what is around it.
  /// Nothing when it is no JSON.
  [[nodiscard]] std::optional<Json> parse(std::string_view text, std::size_t depth) const;

 private:
  class Builder;
  enum class Mode { kAll, kWithout, kOnly };
  FieldMask(Mode mode, const std::vector<std::string>& paths);
  [[nodiscard]] bool keeps(const std::vector<std::string>& path) const;

  Mode mode_ = Mode::kAll;
  std::vector<std::vector<std::string>> paths_;
  std::size_t longest_ = 0;  // members of the longest path: deeper ones need no look
};

}  // namespace inference::client
