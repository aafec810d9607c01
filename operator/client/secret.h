#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace inference::client {

/// A token or private key. It has no formatter and no stream operator, so it can't end up in a log by accident;
/// reveal() is what to grep for. The bytes are wiped when it is destroyed or overwritten.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string value) : value_(std::move(value)) {}
  Secret(const Secret&) = default;
  Secret(Secret&& other) noexcept : value_(std::move(other.value_)) { other.wipe(); }
  Secret& operator=(const Secret& other);
  Secret& operator=(Secret&& other) noexcept;
  ~Secret() { wipe(); }

  [[nodiscard]] std::string_view reveal() const { return value_; }
  [[nodiscard]] bool empty() const { return value_.empty(); }
  bool operator==(const Secret&) const = default;

 private:
  void wipe() noexcept;
  std::string value_;
};

}  // namespace inference::client
