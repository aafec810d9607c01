#pragma once

#include <compare>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace inference::crd {

/// A Kubernetes resource quantity ("512Gi", "500m", "1e3"): an exact number of billionths and the family of suffixes it
/// was written in. Rules of k8s.io/apimachinery/pkg/api/resource: finer than 1e-9 rounds away from zero, beyond ±(2^63
/// − 1) is capped, and the canonical form is the shortest without a fraction in the same family ("1024Mi" → "1Gi",
/// "0.5" → "500m"); binary ones below 1024 or with a fraction are written decimal. A plain value type.
///
/// Tidier than Kubernetes 1.37 in three points that were tried: it takes "Gi", "." and "e3" for 0, which are refused
/// here; it stores "+5", "5.", "0012" and "1E3" as written; and it does not cap amounts of few digits ("1e400").
class Quantity {
 public:
  enum class Format { kDecimalSi, kBinarySi, kDecimalExponent };

  Quantity() = default;
  /// `value` whole units (bytes, CPUs).
  explicit Quantity(std::int64_t value, Format format = Format::kDecimalSi);
  /// The error says what is wrong with `text`.
  [[nodiscard]] static std::expected<Quantity, std::string> parse(std::string_view text);

  /// The canonical text, as the API server prints it.
  [[nodiscard]] std::string to_string() const;
  [[nodiscard]] Format format() const { return format_; }
  /// Whole units, rounded away from zero.
  [[nodiscard]] std::int64_t units() const;
  /// Thousandths, rounded away from zero, capped at ±(2^63 − 1).
  [[nodiscard]] std::int64_t milli_units() const;
  [[nodiscard]] bool is_whole() const;

  /// By amount; "1024Mi" equals "1Gi".
  friend bool operator==(const Quantity& a, const Quantity& b) { return a.nano_ == b.nano_; }
  friend std::strong_ordering operator<=>(const Quantity& a, const Quantity& b) { return a.nano_ <=> b.nano_; }
  /// Results are capped like parsed ones; the left side's format is kept (the right side's when the left is zero).
  friend Quantity operator+(const Quantity& a, const Quantity& b);
  friend Quantity operator-(const Quantity& a, const Quantity& b);
  friend Quantity operator*(const Quantity& a, std::int64_t factor);

 private:
  using Nano = __int128;  // |nano_| ≤ (2^63 − 1) × 10^9 < 2^93
  static Quantity capped(Nano nano, Format format);
  Nano nano_ = 0;
  Format format_ = Format::kDecimalSi;
};

}  // namespace inference::crd
