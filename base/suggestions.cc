#include "base/suggestions.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace inference {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

std::vector<std::string> nearest(std::string_view wanted, std::vector<std::string> candidates, std::size_t count) {
  std::string pattern(wanted.substr(std::min(wanted.find_first_not_of(".$/{"), wanted.size())));
  std::ranges::replace(pattern, '/', '.');
  constexpr std::size_t kLongest = 200;  // the distance costs the product of the lengths
  if (pattern.empty() || pattern.size() > kLongest) return {};
  std::ranges::sort(candidates);
  candidates.erase(std::ranges::unique(candidates).begin(), candidates.end());
  std::vector<std::pair<std::size_t, std::string>> ranked;
  const std::size_t limit = std::max<std::size_t>(1, pattern.size() / 2);
  for (std::string& candidate : candidates) {
    std::string comparable = candidate;
    std::ranges::replace(comparable, '/', '.');
    const std::size_t difference =
        std::max(comparable.size(), pattern.size()) - std::min(comparable.size(), pattern.size());
    if (difference > limit) continue;
    const std::size_t distance = edit_distance(pattern, comparable);
    if (distance <= limit) ranked.emplace_back(distance, std::move(candidate));
  }
  std::ranges::stable_sort(ranked, {}, &std::pair<std::size_t, std::string>::first);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(count, ranked.size()); ++i) names.push_back(std::move(ranked[i].second));
  return names;
}

std::string did_you_mean(std::string_view wanted, std::vector<std::string> candidates) {
  const std::vector<std::string> close = nearest(wanted, std::move(candidates), 1);
  return close.empty() ? "" : "; did you mean " + close.front() + "?";
}

}  // namespace inference
