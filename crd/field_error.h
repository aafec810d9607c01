#pragma once

#include <string>
#include <vector>

namespace inference::crd {

/// One fault in an object, placed: `path` is written as the API server writes it (`spec.engine.env[0].name`), `message`
/// is a plain clause.
struct FieldError {
  std::string path;
  std::string message;
  friend bool operator==(const FieldError&, const FieldError&) = default;
};

/// Everything that is wrong with an object, in the order of the fields; never empty where it stands for a failure.
using FieldErrors = std::vector<FieldError>;

/// `path: message`, one line.
[[nodiscard]] std::string to_string(const FieldError& error);

}  // namespace inference::crd
