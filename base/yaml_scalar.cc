#include "base/yaml_scalar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>

namespace inference {
namespace {

using Words = std::array<std::string_view, 11>;
constexpr Words kTrue = {"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"};
constexpr Words kFalse = {"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"};
constexpr std::array<std::string_view, 5> kNull = {"", "~", "null", "Null", "NULL"};
constexpr std::array<std::string_view, 3> kNotANumber = {".nan", ".NaN", ".NAN"};
constexpr std::array<std::string_view, 3> kInfinity = {".inf", ".Inf", ".INF"};

template <typename List>
bool contains(const List& list, std::string_view text) {
  return std::ranges::find(list, text) != list.end();
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Skips digits; returns how many there were.
std::size_t skip_digits(std::string_view& text) {
  const auto end = std::ranges::find_if_not(text, is_digit);
  const auto count = static_cast<std::size_t>(end - text.begin());
  text.remove_prefix(count);
  return count;
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`, go-yaml's yamlStyleFloat.
bool looks_like_float(std::string_view text) {
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  const std::size_t whole = skip_digits(text);
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (skip_digits(text) == 0 && whole == 0) return false;
  } else if (whole == 0) {
    return false;
  }
  if (text.empty()) return true;
  if (text[0] != 'e' && text[0] != 'E') return false;
  text.remove_prefix(1);
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  return skip_digits(text) > 0 && text.empty();
}

/// Out of range is no number to Go, and so a string.
std::optional<Json> parse_float(const std::string& text) {
  const double value = std::strtod(text.c_str(), nullptr);
  if (!std::isfinite(value)) return std::nullopt;
  // 2^63 is exact as a double; below it every whole double fits an int64.
  constexpr double kLimit = 9223372036854775808.0;
  if (std::trunc(value) == value && value >= -kLimit && value < kLimit) return Json(static_cast<std::int64_t>(value));
  return Json(value);
}

struct Digits {
  std::string_view text;
  int base;
};

/// As Go's strconv.ParseInt with base 0: a prefix names the base, a leading zero alone means octal.
Digits split_base(std::string_view digits) {
  if (digits.size() < 2 || digits[0] != '0') return {digits, 10};
  switch (digits[1]) {
    case 'x':
    case 'X':
      return {digits.substr(2), 16};
    case 'o':
    case 'O':
      return {digits.substr(2), 8};
    case 'b':
    case 'B':
      return {digits.substr(2), 2};
    default:
      return {digits.substr(1), 8};
  }
}

std::optional<Json> parse_integer(std::string_view text) {
  const bool negative = text.starts_with('-');
  const bool sign = negative || text.starts_with('+');
  if (sign) text.remove_prefix(1);
  const Digits digits = split_base(text);
  // from_chars takes a sign of its own, which would let "--1" and "0x-1" through.
  if (digits.text.empty() || digits.text[0] == '-') return std::nullopt;
  std::uint64_t value = 0;
  const char* end = digits.text.data() + digits.text.size();
  const auto [stop, error] = std::from_chars(digits.text.data(), end, value, digits.base);
  // What is out of range and decimal, or has only a leading zero, is read as a decimal float by the caller, as go-yaml
  // does; what has a prefix stays text.
  if (stop != end || error != std::errc()) return std::nullopt;
  constexpr std::uint64_t kMinMagnitude = std::uint64_t{1} << 63U;
  if (negative)
    return value <= kMinMagnitude ? std::optional<Json>(static_cast<std::int64_t>(0 - value)) : std::nullopt;
  if (value < kMinMagnitude) return Json(static_cast<std::int64_t>(value));
  return sign ? std::nullopt : std::optional<Json>(value);
}

/// A number, or the text itself where it is none.
Json resolve_number(std::string_view text) {
  if (text[0] == '.') return looks_like_float(text) ? parse_float(std::string(text)).value_or(Json(text)) : Json(text);
  std::string plain(text);
  std::erase(plain, '_');
  if (auto integer = parse_integer(plain)) return *integer;
  if (looks_like_float(plain)) return parse_float(plain).value_or(Json(text));
  return Json(text);
}

}  // namespace

std::optional<Json> resolve_plain_scalar(std::string_view text) {
  if (contains(kNull, text)) return Json(nullptr);
  const char first = text[0];
  if (contains(kTrue, text)) return Json(true);
  if (contains(kFalse, text)) return Json(false);
  if (first != '.' && first != '+' && first != '-' && !is_digit(first)) return Json(text);
  const std::string_view unsigned_text = first == '+' || first == '-' ? text.substr(1) : text;
  if (contains(kNotANumber, text) || contains(kInfinity, unsigned_text)) return std::nullopt;
  return resolve_number(text);
}

bool is_ambiguous_plain_scalar(std::string_view text) {
  const auto value = resolve_plain_scalar(text);
  if (!value || !value->is_string() || text == "=" || text == "<<") return true;
  const char first = text[0];
  if (!is_digit(first) && first != '+' && first != '-' && first != '.') return false;
  // Whatever is made only of what numbers, times and dates are made of.
  constexpr std::string_view kNumberLike = "0123456789abcdefABCDEFxXoO_:.+-tTzZ ";
  return std::ranges::any_of(text, is_digit) && text.find_first_not_of(kNumberLike) == std::string_view::npos;
}

}  // namespace inference
