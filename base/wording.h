#pragma once

#include <cstdint>
#include <string>

/// How messages for people count and list things.
namespace inference {

/// "1 pod", "2 pods". For nouns whose plural ends in s.
[[nodiscard]] inline std::string counted(std::int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

/// "a, b, c", in the order of the range; empty for none.
template <typename Words>
[[nodiscard]] std::string joined(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

}  // namespace inference
