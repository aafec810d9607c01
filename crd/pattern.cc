#include "crd/pattern.h"

namespace inference::crd {
namespace {

// libstdc++'s default matcher backtracks by recursion: a long text would overflow the stack, a mean one take for ever.
// Its other one is linear.
constexpr auto kFlags = std::regex::ECMAScript | std::regex::optimize | std::regex_constants::__polynomial;

}  // namespace

Pattern::Pattern(const std::string& expression) : regex_(expression, kFlags) {}

bool Pattern::found_in(std::string_view text) const {
  return std::regex_search(text.begin(), text.end(), regex_);
}

}  // namespace inference::crd
