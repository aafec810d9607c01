#include "render/plain_scalar.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>

namespace inference::render {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::size_t count_digits(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::find_if_not(text, is_digit) - text.begin());
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

/// `-?(0|[1-9][0-9]*)`, the only way to write a whole number that every reader agrees on.
bool is_whole_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && count_digits(text) == text.size() && (text.size() == 1 || text.front() != '0');
}

bool is_decimal(std::string_view text) {
  const std::size_t dot = text.find('.');
  if (dot == std::string_view::npos) return false;
  const std::string_view fraction = text.substr(dot + 1);
  return is_whole_number(text.substr(0, dot)) && !fraction.empty() && count_digits(fraction) == fraction.size();
}

/// Whether some reader of YAML 1.1 or 1.2 takes it for a number, a sexagesimal number or a date.
bool looks_numeric(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  const std::string small = lower(text);
  if (small == ".inf" || small == ".nan") return true;
  if (small.starts_with("0x") || small.starts_with("0o") || small.starts_with("0b"))
    return small.find_first_not_of("0123456789abcdef_", 2) == std::string::npos;
  if (text.starts_with('.')) text.remove_prefix(1);
  if (text.empty() || !is_digit(text.front())) return false;
  if (text.find_first_not_of("0123456789_:.eE+-") != std::string_view::npos) return false;
  // Two dots make a version or an address: no reader has a number of that form, unless colons make it base 60.
  return std::ranges::count(text, '.') < 2 || text.find(':') != std::string_view::npos;
}

std::unexpected<std::string> ambiguous(std::string_view text) {
  return std::unexpected("ambiguous plain scalar " + std::string(text) +
                         ": quote it if it is text, else write true, false, null or a plain decimal number");
}

}  // namespace

std::expected<Json, std::string> parse_plain_scalar(std::string_view text) {
  if (text == "true" || text == "false") return Json(text == "true");
  if (text == "null") return Json(nullptr);
  static constexpr std::array kWords = {"yes", "no", "on", "off", "y", "n", "true", "false", "null", "~", "=", "<<"};
  if (std::ranges::find(kWords, lower(text)) != kWords.end()) return ambiguous(text);
  if (is_whole_number(text) && text != "-0") {
    std::int64_t number = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc())
      return std::unexpected("number " + std::string(text) + " does not fit 64 bits");
    return Json(number);
  }
  if (is_decimal(text)) {
    double number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    // What is printed must be what is written: 0.90 as a number loses its last digit.
    if (Json(number).dump() != text) return ambiguous(text);
    return Json(number);
  }
  if (looks_numeric(text)) return ambiguous(text);
  return Json(text);
}

bool is_figure(const Json& value) {
  if (value.is_number()) return true;
  if (!value.is_string()) return false;
  static constexpr std::array kUnits = {"Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "n",  "u",  "m", "k", "M",  "G",
                                        "T",  "P",  "E",  "%",  "s",  "ms", "us", "ns", "h", "d", "min"};
  std::string_view rest = value.get_ref<const std::string&>();
  if (rest.starts_with('-') || rest.starts_with('+')) rest.remove_prefix(1);
  bool first = true;
  while (first || !rest.empty()) {  // durations are several figures in a row: 1h30m
    const std::size_t digits = count_digits(rest);
    if (digits == 0) return false;
    rest.remove_prefix(digits);
    if (rest.starts_with('.') && count_digits(rest.substr(1)) > 0) rest.remove_prefix(1 + count_digits(rest.substr(1)));
    if (first && rest.empty()) return true;
    first = false;
    const auto unit_end = std::ranges::find_if(rest, [](char c) { return is_digit(c) || c == '.'; });
    const std::string_view unit = rest.substr(0, static_cast<std::size_t>(unit_end - rest.begin()));
    if (std::ranges::find(kUnits, unit) == kUnits.end()) return false;
    rest.remove_prefix(unit.size());
  }
  return true;
}

}  // namespace inference::render
