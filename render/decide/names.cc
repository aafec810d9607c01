#include "render/decide/names.h"

#include <algorithm>
#include <string_view>

namespace inference::render {

namespace {

// DNS-1035, which Services demand: 63 characters, less "-serve".
constexpr std::size_t kLongestName = 57;
// A worker's StatefulSet is NAME-GROUP and its pods' label controller-revision-hash NAME-GROUP-HASH of at most 63
// characters: 63 less a dash, five digits (any group index), a dash and ten of the hash.
constexpr std::size_t kLongestGroupName = 46;

bool is_dns_label(std::string_view name) {
  const auto lower = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto inner = [&](char c) { return lower(c) || (c >= '0' && c <= '9') || c == '-'; };
  return !name.empty() && lower(name.front()) && std::ranges::all_of(name, inner) && name.back() != '-';
}

}  // namespace

Names decide_names(const std::string& name, std::int64_t nodes, Findings& findings) {
  if (!is_dns_label(name)) {
    findings.refuse("InvalidSpec", "metadata.name",
                    "must be a DNS label that starts with a letter (a-z, 0-9 and -), since Services take it over");
  }
  const std::size_t longest = nodes > 1 ? kLongestGroupName : kLongestName;
  if (name.size() > longest) {
    findings.refuse("NameTooLong", "metadata.name",
                    "has " + std::to_string(name.size()) + " characters, at most " + std::to_string(longest) +
                        " are possible" +
                        (nodes > 1 ? " with more than one node, since a LeaderWorkerSet adds 17 to it"
                                   : ", since its Service adds 6 to it") +
                        " and 63 is the limit");
  }
  return {.workload = name, .service = name + "-serve", .drain_hook = name + "-drain", .channel = name + "-channel"};
}

}  // namespace inference::render
