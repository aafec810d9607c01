#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"

namespace inference::audit {

/// The JSON pointer of a place below another.
[[nodiscard]] std::string below(std::string pointer, std::initializer_list<std::string_view> keys);

/// Writes a JSON patch (RFC 6902) for one object: parents that are missing are made, lists are appended to.
class PatchWriter {
 public:
  explicit PatchWriter(Json object) : now_(std::move(object)) {}

  /// Puts the value at the pointer, whatever is there now. Lists on the way must exist, with the item.
  PatchWriter& set(std::string_view pointer, Json value);
  /// Adds an item to the end of the list at the pointer, which may be absent.
  PatchWriter& append(std::string_view pointer, Json item);
  /// Removes what is at the pointer.
  PatchWriter& remove(std::string_view pointer);

  [[nodiscard]] Json take() { return std::move(patch_); }

 private:
  void write(Json next);

  Json now_;  // after what is written so far, but for removals
  Json patch_ = Json::array();
};

/// One patch of an object from several, each written for the object as it is: what two of them add to the same place is
/// merged, items with the same name are added once, and items are removed last, so that no index moves before it is
/// used. A patch that cannot be applied is left out.
[[nodiscard]] Json combined_patch(const Json& object, const std::vector<Json>& patches);

/// The object after the patch; the object itself where the patch cannot be applied.
[[nodiscard]] Json patched(const Json& object, const Json& patch);

}  // namespace inference::audit
