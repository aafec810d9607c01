#include "crd/describe.h"

namespace inference::crd {

std::string quotable(std::string_view text) {
  constexpr std::size_t kLongestQuote = 64;
  std::string result(text.substr(0, kLongestQuote));
  if (text.size() > kLongestQuote) {
    while (!result.empty() && (static_cast<unsigned char>(text[result.size()]) & 0xC0) == 0x80) result.pop_back();
    result += "...";
  }
  const std::string quoted = Json(result).dump(-1, ' ', false, Json::error_handler_t::replace);
  return quoted.substr(1, quoted.size() - 2);
}

std::string describe(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::object:
      return "an object";
    case Json::value_t::array:
      return "a list";
    case Json::value_t::string:
      return "the string \"" + quotable(value.get_ref<const std::string&>()) + "\"";
    case Json::value_t::boolean:
      return value.get<bool>() ? "the boolean true" : "the boolean false";
    default:
      return "the number " + value.dump();
  }
}

}  // namespace inference::crd
