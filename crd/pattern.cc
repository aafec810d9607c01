#include "crd/pattern.h"

#include <mutex>
#include <optional>
#include <regex>

namespace inference::crd {
namespace {

// libstdc++ has two matchers. The default one backtracks by recursion: three times as fast, but a long text would
// overflow the stack and a mean one take for ever. The other is linear in the text's length.
constexpr auto kBacktracking = std::regex::ECMAScript;
constexpr auto kLinear = std::regex::ECMAScript | std::regex_constants::__polynomial;
constexpr std::size_t kLongestForBacktracking = 128;

struct Matcher {
  std::once_flag once;
  std::optional<std::regex> regex;

  bool found_in(std::string_view text, const std::string& expression, std::regex::flag_type flags) {
    std::call_once(once, [&] { regex.emplace(expression, flags); });
    return std::regex_search(text.begin(), text.end(), *regex);
  }
};

}  // namespace

struct Pattern::Compiled {
  Matcher backtracking;
  Matcher linear;
};

Pattern::Pattern(std::string expression)
    : expression_(std::move(expression)), compiled_(std::make_unique<Compiled>()) {}
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;
Pattern::~Pattern() = default;

bool Pattern::found_in(std::string_view text) const {
  return text.size() <= kLongestForBacktracking ? compiled_->backtracking.found_in(text, expression_, kBacktracking)
                                                : compiled_->linear.found_in(text, expression_, kLinear);
}

}  // namespace inference::crd
