#include "crd/quantity.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

namespace inference::crd {
namespace {

using Nano = __int128;

constexpr Nano kNanoPerUnit = 1'000'000'000;
constexpr Nano kCap = Nano{std::numeric_limits<std::int64_t>::max()} * kNanoPerUnit;

constexpr std::array<std::string_view, 10> kDecimalSuffixes = {"n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
constexpr int kSmallestDecimalExponent = -9;
constexpr std::array<std::string_view, 7> kBinarySuffixes = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

struct Suffix {
  Quantity::Format format;
  int exponent;  // of 2 for binary suffixes, else of 10
};

// A quantity's text cut into its parts: (-) whole . fraction suffix.
struct Parts {
  bool negative = false;
  std::string whole;
  std::string fraction;
  std::string_view suffix;
};

std::optional<Parts> split(std::string_view text) {
  Parts parts;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    parts.negative = text[0] == '-';
    text.remove_prefix(1);
  }
  const auto take_digits = [&text] {
    const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
    std::string digits(text.begin(), end);
    text.remove_prefix(digits.size());
    return digits;
  };
  parts.whole = take_digits();
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    parts.fraction = take_digits();
  }
  if (parts.whole.empty() && parts.fraction.empty()) return std::nullopt;
  parts.suffix = text;
  return parts;
}

// The number after `e` or `E`, clamped to where every larger one has the same effect.
std::optional<int> read_exponent(std::string_view text) {
  bool negative = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  if (text.empty() || !std::all_of(text.begin(), text.end(), is_digit)) return std::nullopt;
  constexpr int kBeyond = 10'000;
  int value = 0;
  for (const char c : text) value = std::min(value * 10 + (c - '0'), kBeyond);
  return negative ? -value : value;
}

std::optional<Suffix> read_suffix(std::string_view text) {
  const auto decimal = std::find(kDecimalSuffixes.begin(), kDecimalSuffixes.end(), text);
  if (decimal != kDecimalSuffixes.end()) {
    return Suffix{Quantity::Format::kDecimalSi,
                  kSmallestDecimalExponent + 3 * static_cast<int>(decimal - kDecimalSuffixes.begin())};
  }
  const auto binary = std::find(kBinarySuffixes.begin() + 1, kBinarySuffixes.end(), text);
  if (binary != kBinarySuffixes.end()) {
    return Suffix{Quantity::Format::kBinarySi, 10 * static_cast<int>(binary - kBinarySuffixes.begin())};
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    if (const auto exponent = read_exponent(text.substr(1))) {
      return Suffix{Quantity::Format::kDecimalExponent, *exponent};
    }
  }
  return std::nullopt;
}

// Moves the decimal point by `places` to the right (left when negative). 64 digits beyond the written ones are capped
// or rounded anyway.
void shift(Parts& parts, int places) {
  constexpr std::size_t kEnough = 64;
  if (places > 0) {
    const std::size_t count = std::min(static_cast<std::size_t>(places), parts.fraction.size() + kEnough);
    if (parts.fraction.size() < count) parts.fraction.resize(count, '0');
    parts.whole += parts.fraction.substr(0, count);
    parts.fraction.erase(0, count);
  } else {
    const std::size_t count = std::min(static_cast<std::size_t>(-places), parts.whole.size() + kEnough);
    if (parts.whole.size() < count) parts.whole.insert(0, count - parts.whole.size(), '0');
    parts.fraction.insert(0, parts.whole, parts.whole.size() - count);
    parts.whole.erase(parts.whole.size() - count);
  }
}

// whole.fraction × scale, rounded up, capped.
Nano multiply(const Parts& parts, Nano scale) {
  Nano whole = 0;
  for (const char c : parts.whole) whole = std::min(whole * 10 + (c - '0'), kCap);
  if (whole > kCap / scale) return kCap;
  // From the last digit to the first: floor((floor(x) + n) / 10) is floor((x + n) / 10), so only "was there a
  // remainder" is to be kept.
  Nano fraction = 0;
  bool inexact = false;
  for (auto digit = parts.fraction.rbegin(); digit != parts.fraction.rend(); ++digit) {
    fraction += (*digit - '0') * scale;
    inexact |= fraction % 10 != 0;
    fraction /= 10;
  }
  return std::min(whole * scale + fraction + (inexact ? 1 : 0), kCap);
}

Nano divide_away_from_zero(Nano value, Nano divisor) {
  const Nano quotient = value / divisor;
  if (value % divisor == 0) return quotient;
  return value < 0 ? quotient - 1 : quotient + 1;
}

std::string digits_of(Nano value) {
  const bool negative = value < 0;
  std::string digits;
  do {
    const int digit = static_cast<int>(value % 10);
    digits += static_cast<char>('0' + (digit < 0 ? -digit : digit));
    value /= 10;
  } while (value != 0);
  if (negative) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

std::string binary_text(Nano units) {
  std::size_t power = 0;
  for (; power + 1 < kBinarySuffixes.size() && units % 1024 == 0; ++power) units /= 1024;
  return digits_of(units) + std::string(kBinarySuffixes[power]);
}

std::string decimal_text(Nano nano, bool as_exponent) {
  std::size_t power = 0;
  for (; power + 1 < kDecimalSuffixes.size() && nano % 1000 == 0; ++power) nano /= 1000;
  const int exponent = kSmallestDecimalExponent + 3 * static_cast<int>(power);
  if (!as_exponent) return digits_of(nano) + std::string(kDecimalSuffixes[power]);
  return exponent == 0 ? digits_of(nano) : digits_of(nano) + "e" + std::to_string(exponent);
}

}  // namespace

Quantity::Quantity(std::int64_t value, Format format) : nano_(Nano{value} * kNanoPerUnit), format_(format) {
  nano_ = std::max(nano_, -kCap);
}

Quantity Quantity::capped(Nano nano, Format format) {
  Quantity result;
  result.nano_ = std::clamp(nano, -kCap, kCap);
  result.format_ = format;
  return result;
}

std::expected<Quantity, std::string> Quantity::parse(std::string_view text) {
  if (text.empty()) return std::unexpected("a quantity must not be empty");
  auto parts = split(text);
  if (!parts) return std::unexpected("a quantity must begin with a number");
  const auto suffix = read_suffix(parts->suffix);
  if (!suffix)
    return std::unexpected("unknown suffix of a quantity; Ki, Mi, Gi, Ti, Pi, Ei, m, k, M, G, T, P and E are known");
  Nano scale = kNanoPerUnit;
  if (suffix->format == Format::kBinarySi) {
    scale <<= suffix->exponent;
  } else {
    shift(*parts, suffix->exponent);
  }
  const Nano amount = multiply(*parts, scale);
  // Written as the API server does: a binary fraction of one unit would only be rounded.
  const bool below_one = amount > 0 && amount < kNanoPerUnit;
  const Format format = suffix->format == Format::kBinarySi && below_one ? Format::kDecimalSi : suffix->format;
  return capped(parts->negative ? -amount : amount, format);
}

std::string Quantity::to_string() const {
  if (nano_ == 0) return "0";
  const bool small = nano_ > -1024 * kNanoPerUnit && nano_ < 1024 * kNanoPerUnit;
  if (format_ == Format::kBinarySi && !small && is_whole()) return binary_text(nano_ / kNanoPerUnit);
  return decimal_text(nano_, format_ == Format::kDecimalExponent);
}

std::int64_t Quantity::units() const {
  return static_cast<std::int64_t>(divide_away_from_zero(nano_, kNanoPerUnit));
}

std::int64_t Quantity::milli_units() const {
  constexpr Nano kLimit = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::clamp(divide_away_from_zero(nano_, 1'000'000), -kLimit, kLimit));
}

bool Quantity::is_whole() const {
  return nano_ % kNanoPerUnit == 0;
}

Quantity operator+(const Quantity& a, const Quantity& b) {
  return Quantity::capped(a.nano_ + b.nano_, a.nano_ == 0 ? b.format_ : a.format_);
}

Quantity operator-(const Quantity& a, const Quantity& b) {
  return Quantity::capped(a.nano_ - b.nano_, a.nano_ == 0 ? b.format_ : a.format_);
}

Quantity operator*(const Quantity& a, std::int64_t factor) {
  // |a| < 2^93, so only a factor beyond 2^34 could leave 127 bits.
  const Nano limit = factor == 0 ? kCap : kCap / (factor < 0 ? -Nano{factor} : Nano{factor});
  if (a.nano_ > limit || a.nano_ < -limit) {
    return Quantity::capped((a.nano_ < 0) == (factor < 0) ? kCap : -kCap, a.format_);
  }
  return Quantity::capped(a.nano_ * factor, a.format_);
}

}  // namespace inference::crd
